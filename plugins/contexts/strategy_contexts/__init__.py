"""Trace every switch between default, replica, cross-replica and update context.

    import strategy_core as lab
    with lab.trace_contexts() as trace:
        strategy.run(step, args=(batch,))
    trace.save("contexts.html")           a page to step through; or .json, or .parquet

    tracer         traces a `with` block            trace     one entry per context and call
    patches        hooks tf.distribute's methods
    values         describes values that cross      source    finds the user's line
    explain        TensorFlow's errors in words     record    a trace as rows and as JSON
    demonstration  runs and records a program       course    the programs of the course
    child          records in a separate process, for the page and the command line
    shipped        the recordings of the course that come with the lab
    ship           records them again
    stepper        a recording as a page            lecture   questions for a projector

`course`, `child` and `shipped` do not import TensorFlow. Times and traffic belong to `recorder`.
"""
