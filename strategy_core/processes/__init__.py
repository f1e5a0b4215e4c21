"""Worker processes seen from both ends: started, spoken to, watched, and judged when they end.

    protocol         what launcher and worker say to each other
    lifeline         worker's end: it never outlives its launcher
    command_reader   worker's end: commands, heard by a thread
    worker_process   launcher's end: one process, its messages, its last words
    run_folder       a run takes a new folder, or says why it cannot
    watched_worker   what the events of one worker tell while it runs
    last_words       the lines that tell out of what a dying process wrote
    memory_evidence  what the kernel counted about memory
    verdict          why a worker ended, as far as can be told
    run_handle       one run: its workers, commands and ending

Nothing in here imports TensorFlow.
"""
