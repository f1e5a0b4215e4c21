"""See every switch between default, replica, cross-replica and update context.

    import strategy_core as lab
    with lab.trace_contexts() as trace:
        strategy.run(step, args=(batch,))
    trace.save("contexts.html")           a page to step through; or .json, or .parquet

    tracer         records for the time of a block   trace     one entry per context and call
    patches        hooks tf.distribute, and unhooks it
    values         describes values that travel      source    finds the user's line
    explain        TensorFlow's errors in words      record    a trace as rows and as JSON
    demonstration  records a program                 course    the programs of the course
    guard, child   record in a process of its own    scratch   folders of recordings

`course` and `child` import no TensorFlow. Pages that show a recording are in `profiles.stepper`.
"""
