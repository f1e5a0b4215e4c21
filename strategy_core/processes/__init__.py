"""One worker process from both ends: started, commanded, watched, and why it ended.

    protocol         commands and messages between launcher and worker
    worker_process   launcher's end: one process, its messages, its stderr
    command_reader   worker's end: a thread that reads commands
    parent_death     worker's end: it ends with its launcher
    reaper           the worker's parent on Linux; kills what the worker leaves behind
    subreaper, descendants, orphan_cleanup      find and end what a worker started
    exit_reason      why a worker ended; `oom` and `stderr_summary` are its evidence
    stack_probe      where a silent process is
    timeouts, limits how long a process may be silent, and what it may use
    namespace_handle how a process is started in a network namespace
    import_path      what child processes import

Free of TensorFlow. What concerns several processes is in `launcher` and `cluster`.
"""
