"""The user's own data as batches for a workload's model: one reader per format.

.npz            arrays x and y (or any two arrays, the second with the labels)
.csv, .parquet  a column `label` (or the last one) with the labels, the others with numbers
.tfrecord       tf.train.Example records with a feature `label` and numeric features
a folder        one folder of images per class
"""
