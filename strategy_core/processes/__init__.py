"""Worker processes seen from both ends: started, spoken to, and judged when they end.

    protocol         what launcher and worker say to each other
    lifeline         worker's end: it never outlives its launcher
    command_reader   worker's end: commands, heard by a thread
    worker_process   launcher's end: one process, its messages, its last words
    last_words       the lines that tell out of what a dying process wrote
    memory_evidence  what the kernel counted about memory
    verdict          why a worker ended, as far as can be told
    patience         how long one may be silent
    entrance         the way into a network of its own

Nothing in here imports TensorFlow.
"""
