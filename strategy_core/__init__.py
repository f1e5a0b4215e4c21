"""Run and record real tf.distribute programs. TensorFlow lives in here and nowhere else."""
