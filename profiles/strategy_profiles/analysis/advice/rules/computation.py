"""The computation itself takes most of the time, and one part of it most of that.

## What it does

Takes the time in which replicas run their own ops, if it is a fifth of the loop or more, and names
the type of op, the layer and the line of the program that take most of it. An op and its gradients
are one part. So are all ops of an optimizer, its update, and those of a layer, or of a line outside
of layers, without gradients that takes more than any type of op, such as a metric or what prepares
the input. It says which calls of the model compute again what another one has computed of the same
data. The finding ranks by its longest part: a remedy elsewhere that gains more comes first.

## Why is this slow

It is the work that the program asks for.

## What to do

Compute once, before the loop, what the graph computes of values that no step changes. Else the
finding says what makes the time of such an op shorter, if that is known of its type. Where the
op belongs to the model, more replicas or faster devices help. Where it does not, such as a metric
over all candidates, do it less often.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence

from strategy_profiles.analysis.account.op_time import OpTime, at_place
from strategy_profiles.analysis.advice.known_lines import advice_on_text
from strategy_profiles.analysis.advice.rules import (
    float16_on_cpu,
    float64,
    shared_cores,
    whole_batch,
)
from strategy_profiles.analysis.facts import Facts, Finding, finding
from strategy_profiles.analysis.growth import growth
from strategy_profiles.analysis.program_loops import statement_at
from strategy_profiles.analysis.repeated_calls import RepeatedCalls
from strategy_profiles.analysis.same_each_step import SameEachStep
from strategy_profiles.errors import shortened
from strategy_profiles.reporting import units
from strategy_profiles.run.tensorflow_names import (
    DEBUGGING_OPS,
    OPTIMIZER,
    PYTHON_OPS,
    WRITE_VARIABLE,
)

KEY = "computation"
ROWS = ("loop/steps/compute",)
NO_GAIN = "The computation is what the step is for."
SHARE = 0.2
"""Of the loop without its first step: what takes less does not limit it."""
REMEDIES = {
    r"(Depthwise)?Conv\w*": (
        "A convolution takes time in proportion to the area of its input, to the area of its "
        "kernel, to its filters, and to the channels that it reads: smaller inputs, a stride or "
        "a pooling before it, smaller kernels, or separable convolutions take less."
    ),
    r"(Batch)?MatMul\w*|Einsum": (
        "A product of matrices takes time in proportion to each of its three sizes: narrower "
        "layers take less. What is the same in each step is computed once, before the loop."
    ),
    r"(Sparse)?SoftmaxCrossEntropy\w*|(Log)?Softmax": (
        "It takes time in proportion to the batch and to the number of classes: of many words, "
        "items or classes compute the scores of a sample in training "
        "(tf.nn.sampled_softmax_loss), or use fewer classes."
    ),
    r"TopK\w*|InTopK\w*|Sort|Argsort|Unique\w*": (
        "Order fewer candidates, or order them in the validation only."
    ),
    r"(Stateless)?(Random|Truncated|Multinomial)\w*": (
        "Draw fewer random numbers: for a smaller tensor, once for several steps, or in the input "
        "pipeline, beside the step."
    ),
    r"Svd|Qr|Cholesky\w*|Matrix\w+|SelfAdjointEig\w*|Lu|I?R?FFT\w*": (
        "It grows faster than its tensor: use it for a smaller one, every few steps, or once if "
        "its tensor stays the same."
    ),
    r"Resize\w*|CropAndResize\w*|ImageProjectiveTransform\w*|ExtractImagePatches|RGBToHSV|HSVToRGB|"
    r"Adjust(Contrast|Hue|Saturation)\w*": (
        "It takes time in proportion to the area of its pictures: use smaller ones, or do it "
        "beside the step, in the dataset's map(), and before cache() if it makes the same in each "
        "epoch."
    ),
    r"(Max|Avg)Pool\w*|Dilation2D\w*|LRN\w*": (
        "It looks at every number of every window: smaller windows, or a larger stride, take less."
    ),
    r"(Decode|Encode)(Png|Jpeg|Bmp|Gif|WebP|Image|Wav|AndCropJpeg)": (
        "It works on one picture or sound after the other: decode in the dataset's map(), beside "
        "the step, and before cache(); encode fewer, or every few steps, as for a log."
    ),
    r"String\w*|Regex\w*|Unicode\w*|AsString|Substr\w*|LookupTable\w*|DecodeCSV|DecodeRaw": (
        "It works on one text after the other: do it beside the step, in the dataset's map(), and "
        "before cache() if it makes the same in each epoch."
    ),
    r"(Combined)?NonMaxSuppression\w*|CTC\w*|EditDistance|LinearAssignment\w*": (
        "It compares one candidate after the other: give it fewer candidates, or use it in the "
        "validation only."
    ),
    r"Cum(sum|prod)\w*|Cumulative\w*|\w*Segment(Sum|Mean|Max|Min|Prod|Sqrt)\w*|ScatterNd\w*|"
    r"TensorScatter\w*|(Dense|Ragged|Sparse)?Bincount|Histogram\w*|Where|SparseToDense": (
        "It goes through its input one number or one row after the other: give it fewer rows or a "
        "shorter axis, and leave out what the result does not need."
    ),
    r"Tile|BroadcastTo|ConcatV2|Pack|Unpack|Split(V)?|Transpose|GatherV2|GatherNd|StridedSlice|"
    r"Slice|OneHot|(Mirror)?Pad(V2)?|ReverseV2|Roll|SpaceTo\w+|BatchToSpace\w*|DepthToSpace": (
        "It copies values and computes nothing. Let ops broadcast instead of a tile, look rows up "
        "instead of a product with one_hot, keep one layout from layer to layer, and take what is "
        "needed before it is copied."
    ),
    r"Mul|Sum|Mean|Sub|AddV2|AddN|Neg|RealDiv|Square|SquaredDifference|Pow|Exp|Sqrt|Rsqrt|Maximum|"
    r"Minimum|Select(V2)?|Greater(Equal)?|Less(Equal)?|Abs|Sign|Cast|Log(1p)?|Tanh|Sigmoid|Erfc?|"
    r"Elu|Softplus|Sin|Cos|Atan2?|Lgamma|Digamma|Igammac?|Floor(Div|Mod)?|Round|ClipByValue|Prod|Max|"
    r"Min|All|Any|Equal|NotEqual|L2Loss": (
        "It computes little with each number that it reads and writes: use it on smaller tensors, "
        "or compile their function, without the reduction of gradients in it, with "
        "tf.function(jit_compile=True), so that XLA makes one kernel of such ops in a row."
    ),
    r"While|TensorList\w+": (
        "The steps of a loop over time come one after the other: give each more work (a larger "
        "batch), or compute what does not depend on the step before it outside of the loop."
    ),
}
"""What makes the time of some types of op shorter."""
OF_A_PRODUCT = (
    "Where two tensors are multiplied and the products added up along an axis, tf.matmul or "
    "tf.einsum need no tensor of all products. The distances of all pairs need none either: their "
    "squares are |a|^2 + |b|^2 - 2ab."
)
_MULTIPLIES = frozenset({"Mul", "Square", "SquaredDifference", "Pow"})
_PART_OF_PRODUCT = 0.05
"""Of the time of all ops: what `Sum`, and the ops that multiply, each take of a layer's product
that is written out."""
OF_AN_UPDATE = (
    "Each replica updates all variables, so more replicas do not help, and a larger batch needs "
    "fewer updates for an epoch.{largest}"
)
OF_ROWS = (
    " If a batch uses few rows of a table, make the table smaller, or update it by SGD without "
    "momentum: of Keras's optimizers it alone writes these rows and no others."
)
_OF_THE_COMPUTATION = (float16_on_cpu, float64, whole_batch)
"""Rules that say what makes the computation longer than it has to be."""
_SCATTERS = "ResourceScatter"
"""How the names of ops begin that write some rows of a variable."""
_OF_OTHER_FINDINGS = PYTHON_OPS | DEBUGGING_OPS
_LEAST_OF_UPDATE = 0.01
"""Of the time of an update: what these ops take of it at least."""
_OF_GRADIENT = re.compile(r"(Backprop\w*|Grad(V\d)?|V\d)$")
"""How the types of ops end that compute gradients, or are a later version."""
OF_ONE_HOT = (
    "A product with one_hot only picks rows of a table, and takes time for all of them: tf.gather, "
    "or an Embedding layer, takes these rows alone."
)
OF_SCORES = (
    "Of the scores of many words, items or classes those of a sample are enough to train "
    "(tf.nn.sampled_softmax_loss)."
)
_OF_SCORES = re.compile(r"SoftmaxCrossEntropy|^(Log)?Softmax$")
OF_DIAGONAL = (
    "A product with tf.linalg.diag() of a vector takes time for all zeros beside the diagonal: "
    "multiply the rows or the columns by the vector itself (`x * scale`)."
)
OF_SORT = (
    "tf.sort() and tf.argsort() order all values, and the gradient of the first writes as many: "
    "where a few of the largest are wanted, tf.math.top_k() takes these alone, with sorted=False "
    "if their order does not matter."
)
OF_ZEROS = (
    "If `{op}` makes an operand of this product from the indices of a few entries, the product "
    "takes time for all zeros: tf.sparse.sparse_dense_matmul, or the sum of the rows of an "
    "Embedding layer, takes these entries alone."
)
OF_THE_SAME = (
    "Nothing that {these} read changes from step to step: constants, tensors that the function "
    "captured, and variables that no op of the step writes. Compute it once, before the loop, and "
    "keep the result in a tensor or a tf.Variable; again when the program itself changes what it "
    "is made of."
)
_PADS = re.compile(r"\bpad_sequences\(|\.padded_batch\(|\.to_tensor\(")
OF_PADDING = (
    "{place} pads sequences, and what is computed of the padding takes as long as the rest: let "
    "examples of like length be in one batch (bucket_by_sequence_length()), or cut the longest."
)
OF_AGAIN = (
    "No gradient is computed of the repeated calls, and the variables are written before them: "
    "take what a metric needs from the result of the other call, or compute it every few steps."
)
_TABLE = re.compile(r"Embedding|embedding|\bgather\(")
_RUNS_ALONE = re.compile(r"(?<!\bsubprocess)(?<!\bapp)\.run\(\s*[\w.]+\s*\)")
OF_OWN_DATA = (
    "{place} passes nothing to the replicas, so each makes data of its own, and {num} of them "
    "compute {num} times as much as one: if they are to share the work of a step, divide the "
    "number of examples by strategy.num_replicas_in_sync."
)
_SORTS = ("sort", "argsort")
"""Scopes of the ops of tf.sort and tf.argsort."""
_MOSTLY_ZEROS = ("ScatterNd", "SparseToDense", "DenseBincount")
_ONE_HOT = 0.02
"""Of the time of all ops: what one_hot takes at least, for the product to be with it."""
_LEAST_OF_SAME = 0.1
"""Of the time of all ops: what computes the same in each step, to be worth saying."""
OF_ANY_OP = "a faster device or less work per step help."
STANDS_OUT = 0.1
"""Share of the loop below which an op is no place to look at."""
NONE_STANDS_OUT = "No type of op takes a tenth of the loop, so there is none to change."
OF_A_METRIC = "If an op is needed only for a metric, compute it less often."
OF_UNTRAINED = (
    "`{layer}` is not trained: if it prepares the input, apply it in the dataset's map(), beside "
    "the step; if it is only for a metric, compute it every few steps, or in the validation only."
)
_ONE_TYPE = 0.9
"""Part of a layer's time from which on one type of op is all of it."""
LIMITS = 0.4
"""Share of the loop from which on the computation limits a program."""
MOST_OF_LOOP = 0.75
"""Share of the loop without its first step from which on the rest is not worth a look."""
MOST = 3
MOST_OF_A_NAME = 48
"""Characters: the names of kernels have their template arguments."""


def find(facts: Facts) -> Iterator[Finding]:
    row = facts.account.row("loop/steps/compute")
    if row is None or facts.account.share_of_usual(row) < SHARE or not facts.ops:
        return
    every = _groups(facts.ops)
    groups = every[:MOST]
    if not groups:
        return
    of_loop, shares = facts.account.share(row), [_share(group) for group in groups]
    named_groups = [_names_of_ops(group) for group in groups]
    named = [
        f"{name}, {units.share(share * of_loop)}"
        for name, share in zip(named_groups, shares, strict=True)
    ]
    known = sum(map(_share, every))  # without those that run Python
    in_usual = facts.account.share_of_usual(row) * known
    is_all = in_usual >= MOST_OF_LOOP and growth(facts.steps.wall_ms) is None and not facts.noted
    is_all = is_all and not any(any(rule.find(facts)) for rule in _OF_THE_COMPUTATION)
    again = facts.read_repeated_calls()
    if again is not None and again.share < _LEAST_OF_SAME:
        again = None
    remedies, trains = _remedies(facts, groups[0], shares[0] * of_loop, again)
    sentence = _sentence(named, of_loop * known, facts.loop_name, is_all=is_all)
    yield finding(
        facts,
        KEY,
        f"{sentence}{_said_again(again, of_loop) if again else ''}",
        " ".join(remedies),
        facts.account.cost(row.total_ms * shares[0], "derived", facts.held_up.num_steps),
        ops=[*named_groups, *sorted({op.op for op in groups[0]})],
        trains=trains,
        part=_of_one_type(groups[0]),
    )


def _of_one_type(group: Sequence[OpTime]) -> float:
    """The part of the group that it ranks by: of trained ops that of the longest type. No single
    change shortens an op and all of its gradients, and a cause that can be mended comes first."""
    if _is_update(group) or not _trains(group):
        return 1.0
    of_type: dict[str, float] = defaultdict(float)
    for op in group:
        of_type[op.op] += op.share
    return max(of_type.values()) / _share(group)


def _remedies(
    facts: Facts, group: Sequence[OpTime], of_loop: float, again: RepeatedCalls | None
) -> tuple[list[str], bool]:
    """What to do about the group that takes most of the loop, and whether it trains the model."""
    op, share, before = group[0].op, _share(group), [OF_AGAIN] if again is not None else []
    if _is_update(group):
        return [*before, _of_update(facts, group)], True
    same = facts.read_same_each_step()
    if same is not None and same.share >= max(_LEAST_OF_SAME, share / 2):
        return [*before, OF_THE_SAME.format(these=_these(same))], False
    trains = _trains(group)
    any_op = f"more replicas, {OF_ANY_OP}" if shared_cores.more_may_help(facts) else OF_ANY_OP
    if of_loop < STANDS_OUT:
        return [*before, NONE_STANDS_OUT, any_op.capitalize()], trains
    if group[0].layer in _SORTS:
        before.append(OF_SORT)
    is_untrained = _is_untrained_line(group) or _is_untrained_layer(group)
    of_text = _by_text(facts, group[0].line) if is_untrained else None
    if of_text is not None:
        before.append(of_text)
    if _is_untrained_layer(group):
        before.append(OF_UNTRAINED.format(layer=group[0].layer))
    if op.endswith("MatMul"):
        before += _of_operands(facts.ops)
    if _is_product(facts.ops, group[0]):
        before.append(OF_A_PRODUCT)
    before += [*_of_own_data(facts), *_of_padding(facts), *([] if of_text else _of_type(op))]
    if not trains and not _is_untrained_layer(group) and again is None:
        before.append(OF_A_METRIC)
    return [*before, f"Otherwise {any_op}" if before else any_op.capitalize()], trains


def _of_own_data(facts: Facts) -> list[str]:
    """Of replicas that are passed nothing, and of which no examples are known."""
    num = facts.segment.num_replicas
    line = facts.first_line_of_sources(_RUNS_ALONE) if num > 1 else None
    if line is None or facts.segment.global_batch_size is not None:
        return []
    return [OF_OWN_DATA.format(place=line.place, num=num)]


def _of_padding(facts: Facts) -> list[str]:
    """Of a program that pads sequences: as much is computed of the padding as of them."""
    line = facts.first_line_of_sources(_PADS)
    return [] if line is None else [OF_PADDING.format(place=line.place)]


def _by_text(facts: Facts, place: str | None) -> str | None:
    """What to do about a line of a function, by what its statement says."""
    file, _, line = (place or "").rpartition(":")
    text = statement_at(facts.sources.get(file, ""), int(line)) if line.isdecimal() else ""
    return advice_on_text(text, each_step=True)


def _trains(group: Sequence[OpTime]) -> bool:
    """Whether most of it, or a gradient that it has, belongs to layers that are trained."""
    has_gradient = any("Grad" in op.op or "Backprop" in op.op for op in group)
    return has_gradient or _share([op for op in group if op.trains]) > _share(group) / 2


def _said_again(again: RepeatedCalls, of_loop: float) -> str:
    first = at_place(again.first)
    places = units.listed([line.rpartition("/")[2] for line in again.lines[:MOST]])
    calls, compute = ("calls", "compute") if len(again.lines) > 1 else ("call", "computes")
    what = f"what that{first} has" if first else "what another one has"
    return (
        f" The {calls} of the model at {places} {compute} again {what} computed of the same data: "
        f"{units.share(again.share * of_loop)}."
    )


def _of_update(facts: Facts, members: Sequence[OpTime]) -> str:
    has_table = facts.first_line_of_sources(_TABLE) and not members[0].op.startswith(_SCATTERS)
    rows = OF_ROWS if has_table else ""
    return f"{OF_AN_UPDATE.format(largest=facts.placed.said_of_largest)}{rows}"


def _these(same: SameEachStep) -> str:
    at = at_place(same.line)
    return f"{units.listed([f'`{op}`' for op in same.ops[:MOST]])}{at}"


def _sentence(named: Sequence[str], of_loop: float, loop: str, *, is_all: bool) -> str:
    """What takes most, and what all ops take; that it limits the program only if it does, and that
    nothing else does if it is all."""
    most, then = f"{named[0]} of {loop}", f"; then {'; '.join(named[1:])}" if named[1:] else ""
    share = units.share(of_loop)
    if of_loop < LIMITS:
        return f"Of the computation, which takes {share} of {loop}, most is {most}{then}."
    only, little = ("Only the", ", so little can be gained elsewhere") if is_all else ("The", "")
    return (
        f"{only} computation limits the program, most of all {most}{then}. All ops of the replicas "
        f"take {share}{little}."
    )


def _of_type(op: str) -> list[str]:
    return [words for types, words in REMEDIES.items() if re.fullmatch(types, op)]


def _of_operands(ops: Sequence[OpTime]) -> list[str]:
    """What to do about a product of matrices, by what seems to make or take one of its tensors."""
    scores = [each for each in ops if _OF_SCORES.search(each.op)]
    remedies = {"OneHot": OF_ONE_HOT, "MatrixDiagV3": OF_DIAGONAL} | {
        op: OF_ZEROS.format(op=op) for op in _MOSTLY_ZEROS
    }
    known = [
        remedy
        for op, remedy in remedies.items()
        if _share([each for each in ops if each.op == op]) > _ONE_HOT
    ]
    return [*known, OF_SCORES] if _share(scores) > _ONE_HOT else known


def _is_product(ops: Sequence[OpTime], longest: OpTime) -> bool:
    """Whether a product of matrices is written as a multiplication and a sum.

    So it is if both take long in the layer of the longest op, or in its line outside of layers.
    """
    same = [op for op in ops if (op.layer or op.line) == (longest.layer or longest.line)]
    added = _share([op for op in same if op.op == "Sum"])
    multiplied = _share([op for op in same if op.op in _MULTIPLIES])
    is_written_out = longest.op in (*_MULTIPLIES, "Sum", "Tile", "BroadcastTo")
    return is_written_out and min(added, multiplied) >= _PART_OF_PRODUCT


def _groups(ops: Sequence[OpTime]) -> list[list[OpTime]]:
    """All ops of an optimizer, which makes one update of many ops; else the ops of each type, in
    all layers, or of the layer that is not trained and takes more than any of these. The group that
    takes most is first; ops of other findings are in none."""
    layers: dict[str | None, list[OpTime]] = defaultdict(list)
    for op in ops:
        if op.op not in _OF_OTHER_FINDINGS:
            layers[op.layer].append(op)
    groups: dict[tuple[str | None, str], list[OpTime]] = defaultdict(list)
    for layer, members in layers.items():
        is_update = _is_update(members)
        for op in members:
            groups[(layer, "") if is_update else (None, _forward(op.op))].append(op)
    every = sorted(groups.values(), key=_share, reverse=True)
    lines: dict[str | None, list[OpTime]] = defaultdict(list)
    for op in layers.get(None, []):
        lines[op.line].append(op)
    untrained = max(
        [
            *filter(_is_untrained_layer, layers.values()),
            *filter(_is_untrained_line, lines.values()),
        ],
        key=_share,
        default=None,
    )
    is_most = untrained is not None and _share(untrained) > _share(every[0])
    if untrained is None or not is_most or not any(op.trains for op in ops):
        return every
    others = ([op for op in group if op not in untrained] for group in every)
    return [untrained, *sorted(filter(None, others), key=_share, reverse=True)]


def _forward(op: str) -> str:
    """`Conv2D` of `Conv2DBackpropFilter`, `MaxPool` of `MaxPoolGrad`; any other type as it is."""
    return _OF_GRADIENT.sub("", op)


def _is_untrained_layer(members: Sequence[OpTime]) -> bool:
    """Whether they are the ops of several types of one layer, of which no gradient is computed,
    and no update."""
    layers = {member.layer for member in members}
    if len(layers) > 1 or None in layers or any(member.trains for member in members):
        return False
    longest = max(member.share for member in members)
    return longest < _ONE_TYPE * _share(members) and not _is_update(members)


def _is_untrained_line(members: Sequence[OpTime]) -> bool:
    """Whether they are the ops of several types of one line, outside of layers, of which no
    gradient is computed."""
    lines = {member.line for member in members}
    if len(lines) != 1 or None in lines or any(m.layer or m.trains for m in members):
        return False
    return max(member.share for member in members) < _ONE_TYPE * _share(members)


def _is_update(members: Sequence[OpTime]) -> bool:
    """Whether they are of one layer that writes variables and is not trained, as an optimizer. A
    layer that draws random numbers writes its seed alone, which takes next to nothing."""
    is_one = members[0].layer is not None and len({op.layer for op in members}) == 1
    writes = _share([op for op in members if op.op.startswith(WRITE_VARIABLE)])
    # Beside sparse gradients that are made dense, what writes may take less of the update.
    is_named = OPTIMIZER.fullmatch(members[0].layer or "") is not None
    is_writing = writes > 0.0 and (is_named or writes >= _LEAST_OF_UPDATE * _share(members))
    return is_one and is_writing and not any(op.trains for op in members)


def _share(parts: Sequence[OpTime]) -> float:
    return sum(op.share for op in parts)


def _line(parts: Sequence[OpTime]) -> str:
    """` at train.py:12` if most of the op's time is of one line."""
    lines: dict[str | None, float] = defaultdict(float)
    for op in parts:
        lines[op.line] += op.share
    line = max(lines, key=lines.__getitem__)
    if line is None or 2 * lines[line] < sum(lines.values()):
        return ""
    return at_place(line)


def _names_of_ops(parts: Sequence[OpTime]) -> str:
    """`MatMul` of `dense` at train.py:12; of an optimizer or a layer that is not trained, its name
    first, then the ops that take most."""
    names = [f"`{shortened(part.op, MOST_OF_A_NAME)}`" for part in parts]
    layer = parts[0].layer
    if _is_update(parts):
        return f"the update of `{layer}`{_line(parts)} ({', '.join(names[:MOST])})"
    if _is_untrained_layer(parts):
        return f"`{layer}`{_line(parts)} ({', '.join(names[:MOST])})"
    if _is_untrained_line(parts):
        return f"{units.listed(names[:MOST])}{_line(parts)}"
    types = [part.op for part in parts if not _OF_GRADIENT.search(part.op)]
    if types and len(types) < len(parts):
        names[0], with_gradients = f"`{types[0]}`", ", with its gradients"
    else:
        with_gradients = ""
    among = "" if len({op.layer for op in parts}) == 1 else " and others"
    of_layer = f" of `{layer}`{among}" if layer else ""
    return f"{names[0]}{of_layer}{_line(parts)}{with_gradients}"
