"""The tab of TensorBoard that shows the runs below its log directory.

TensorBoard imports `plugin` by its entry point. Nothing else imports it: the lab does not need
TensorBoard.
"""
