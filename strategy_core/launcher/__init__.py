"""A run's processes as the launcher holds them: started, watched, changed, ended.

    run_handle       one run: its workers, commands and ending
    hosted_run       this host's part of a run on several
    crew             the processes of one generation, from start to end
    watched_worker   what the events of one worker tell while it runs
    inquiry          who the others wait for
    comeback         whether a run goes on without who was lost
    chronicle        what the launcher writes down
    run_folder       a run takes a new folder, or says why it cannot

Nothing in here imports TensorFlow.
"""
