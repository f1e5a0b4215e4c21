"""Lines of programs that are known to be slow, by what they say, and what to do about each."""

from __future__ import annotations

import re

from strategy_profiles.analysis.python_in_ops import LOCKS

_ONE_AFTER_THE_OTHER = (
    "The line works on one {thing} after the other: do it once, before training, and keep the "
    "result; {else_}."
)
_OF_DATA = {
    r"\w\.index\(": (
        "A list's index() looks at one element after the other: a dict, or StringLookup, finds one "
        "at once."
    ),
    r"\.(?:pop\(0\)|insert\(0,)": (
        "A list moves all of its elements when the first one is taken or added: use "
        "collections.deque, with popleft(), appendleft() and maxlen."
    ),
    r"(?i:\.execute(?:many)?\(.*\bselect\b)|\.(?:fetchone|fetchall|fetchmany)\(": (
        "The line asks a database: ask for all rows of a batch in one query, or read the table "
        "into memory once."
    ),
    r"(?:^|\W)(?:open\((?!.*[\"'][wa]b?[\"'])|read_csv\(|imread\(|loadtxt\(|genfromtxt\(|"
    r"load_img\(|(?:np|pickle|json|librosa)\.load\(|Image\.open\()|\.read(?:_text|_bytes)?\(": (
        "The line reads: read once and keep what was read, read larger pieces, or let a dataset "
        "read several files at once (map() with num_parallel_calls, interleave())."
    ),
    r"\b(?:requests|httpx)\.\w+\(|\burlopen\(": (
        "The line asks a server and waits: ask for a whole batch at once, or let several requests "
        "wait at once, in threads or a parallel map()."
    ),
    r"\bsleep\(": (
        "The line waits: let several such waits pass at once, in threads or a parallel map(), or "
        "ask for a whole batch at once."
    ),
    r"\bdeepcopy\(": (
        "deepcopy() copies everything each time: copy only what has changed, or do it every few "
        "steps."
    ),
    r"\.copy\(\)": (
        "copy() copies all of it each time: take only what is needed of the original, such as "
        "the rows of a batch (array[rows], which is a copy of these)."
    ),
    r"\.append\(.*ignore_index|\bpd\.concat\(|\bpandas\.concat\(": (
        "pandas copies all rows to add some: collect the rows in a list, and make the table once."
    ),
    r"\.(?:iloc|loc|iat|at)\[|\.(?:iterrows|itertuples)\(|\bdf\w*\.sample\(": (
        "pandas takes long for each row or cell: take the columns as NumPy arrays once, by "
        "to_numpy(), and index these."
    ),
    r"\bragged\.(?:constant|stack)\(": (
        "tf.ragged.constant() and tf.ragged.stack() work in Python on each element: give "
        "tf.RaggedTensor.from_row_lengths() all values as one array, and the lengths."
    ),
    r"\.predict\(": (
        "predict() makes an iterator over its data each time: call it once, on all of the data "
        "before training, or use predict_on_batch(), or call the model in a tf.function."
    ),
    r"\.(?:toarray|todense)\(": (
        "A dense array has all the zeros: take the rows of the batch first and make these dense, "
        "or give tf.sparse.sparse_dense_matmul() the sparse ones."
    ),
    r"\bcdist\(|\bpairwise_\w+\(|\[[^\]]*\b(?:None|newaxis)\b[^\]]*\] ?- ?\w": (
        "The line compares each row with each other: compare with fewer rows, or by a product of "
        "matrices, as |a - b|^2 = |a|^2 + |b|^2 - 2ab, which needs no array of all differences."
    ),
    r"(?<!\btf\.)\blinalg\.(?:svd|p?inv|eig\w*|qr|solve|lstsq|(?:slog)?det|matrix_rank|"
    r"cholesky|expm)\(": (
        "The function takes time by the third power of the size of its matrix: give it a smaller "
        "one, call it every few steps, or keep the result while the matrix stays the same."
    ),
    r"\b(?:c?KDTree|BallTree|NearestNeighbors|\w*KMeans|PCA|TSNE|IsolationForest|AnnoyIndex)\(": (
        "The line builds an index or fits a model: build it once, before the loop, and again only "
        "when its data have changed much."
    ),
    r"\b(?:(?:roc_auc|f1|accuracy|(?:average_)?precision|recall|silhouette|r2|ndcg)_score|roc_curve|"
    r"precision_recall_curve|confusion_matrix|classification_report)\(": (
        "The line computes a metric of everything that it is given, in Python: compute it once an "
        "epoch, or add up a metric of keras.metrics batch by batch."
    ),
    r"\bre\.(?:sub|split|findall|match|search|compile)\(|\bnlp\(|\bBeautifulSoup\(|"
    r"\.(?:tokenize|encode_plus|batch_encode_plus)\(|\btokeni[sz]er?\(": (
        _ONE_AFTER_THE_OTHER.format(
            thing="text", else_="or give the library all texts of a batch in one call"
        )
    ),
    r"\b(?:cv2|ndimage|skimage(?:\.\w+)?|ImageOps|ImageFilter|librosa\.\w+|scipy\.signal)\."
    r"[a-z]\w*\(|\bgaussian_filter\w*\(|(?<!\btf\.)\bsignal\.(?:resample|i?stft|spectrogram|"
    r"\w*filt\w*|\w*convolve\w*)\(|(?<!\btf\.)\b(?:im|img|image|picture)\w*\.(?:resize|rotate|"
    r"convert|crop)\(": (
        _ONE_AFTER_THE_OTHER.format(
            thing="picture or sound",
            else_="such libraries let other threads run, so a parallel map(), or workers of a "
            "PyDataset, do several at once; or use the ops of tf.image and tf.signal on a batch",
        )
    ),
    r"^(?:[\w, .\[\]]+ = |return )?(?:np|numpy)\."
    r"(?:array|asarray|stack|vstack|hstack|concatenate|append)\((?!.*\bfor\b|[^(]*\w\()": (
        "The line makes a whole array each time, of a list or of other arrays: collect the parts "
        "in a list and make the array once, or keep one array and change only the rows of it that "
        "are new."
    ),
}
_OF_STEPS = {
    LOCKS.pattern: (
        "The line waits for a lock that another thread of the program holds: hold the lock only "
        "for what the threads share, or train in one thread."
    ),
    r"\bjson\.dump\(|\byaml\.(?:safe_)?dump\(|\.to_(?:csv|json|parquet|pickle)\(": (
        "The line writes everything again each time: append what is new, such as a line of JSON "
        "for each step, or write less often."
    ),
    r"\.(?:save(?:_\w+|z\w*|fig)?|imsave|write(?:_\w+|rows?)?|dump)\(|"
    r"\bimwrite\(|\bopen\(.*[\"'][wa]b?[\"']": (
        "The line writes: write less often, with less compression, or in another thread or process."
    ),
    r"\bfsync\(|\.flush\(|\bflush=True": (
        "flush() and fsync() wait until all that was written is handed on: leave them out, or call "
        "them every few steps."
    ),
    r"\b(?:dumps|sha\d+|md5|crc32|adler32|compress)\(": (
        "The line goes through all bytes of what it is given: give it only what has changed, or do "
        "it every few steps, or in another thread or process."
    ),
    r"\bsubprocess\.|\bos\.(?:system|popen)\(": (
        "The line starts a process: ask every few steps, in another thread, or by a library in "
        "this process."
    ),
    r"\b(?:psutil|tracemalloc|objgraph)\.|\bgetrusage\(|\bmemory_(?:full_)?info\(": (
        "The line measures the process itself: measure every few steps."
    ),
    r"\b[gs]et_weights\(": (
        "get_weights() and set_weights() move every variable through NumPy: assign the variables "
        "in one tf.function (`for to, of in zip(a.variables, b.variables): to.assign(of)`), or do "
        "it every few steps."
    ),
    r"\brandom\.sample\(": (
        "random.sample() of a deque counts to each element from an end of it: keep the elements in "
        "a list, or in arrays of which one index takes the rows of a batch."
    ),
    r"\b(?:np|numpy)\.random\.choice\(|\.choice\(.*\b(?:replace=False|p=)": (
        "choice() works on all elements to draw a few: draw with the integers() of "
        "np.random.default_rng(), by np.searchsorted() of a cumulative sum where they have "
        "weights, or draw for many steps in one call."
    ),
    r"\.permut(?:ation|ed)\(|\b(?:random|rng|rs|generator)\.shuffle\(": (
        "The line shuffles everything each time: shuffle an array of row numbers once an epoch and "
        "take the next part of it for each batch, or draw the rows of a batch with integers()."
    ),
    r"\bargsort\(|\bsorted\(|\.sort\(": (
        "The line orders everything each time: for a few of the largest use np.argpartition() or "
        "heapq.nlargest(); to keep an order use heapq or bisect, which place one new element."
    ),
    r"\benvs?\w*\.(?:step|reset|render)\(": (
        "The environment makes one step after the other: run several of them side by side, in "
        "processes or as one environment on arrays, and choose all of their actions in one call of "
        "the model."
    ),
    r"\bfrom_tensors?(?:_slices)?\(": (
        "The line copies arrays into a new dataset, and converts lists one element after the "
        "other: give it NumPy arrays, and make the dataset once, before the loop."
    ),
    r"\bnext\(iter\(": (
        "iter() starts the dataset from its beginning each time: make the iterator once, before "
        "the loop, and call next() on it."
    ),
    r"\.assign\((?:tf\.)?(?:concat|roll|tensor_scatter_\w+|where)\(": (
        "The line writes all of the variable to change some of it: write the new rows alone, at a "
        "place that goes round (`bank[at:at + n].assign(rows)`, or scatter_update())."
    ),
    r"\bgc\.collect\(": (
        "Python collects garbage by itself: leave the call out, or make it once an epoch."
    ),
    r"\bclear_session\(": (
        "clear_session() throws away what Keras has built, and new models are traced again: leave "
        "the call out, or use one model for all rounds."
    ),
    r"(?:^|[ .=(])(?:Model|Sequential|clone_model|model_from_json|load_model)\(": (
        "The line makes a model: make it once, before the loop, and use it in each step."
    ),
    r"\b(?:optimizers|layers)\.[A-Z]\w*\(": (
        "The line makes a new object of Keras, with its own variables: make it once, before the "
        "loop."
    ),
    r"\b(?:Thread|Process)?Pool(?:Executor)?\(|\bProcess\(": (
        "The line starts processes or threads: start them once, before the loop."
    ),
    r"\bpool\w*\.(?:map|starmap|apply)\(": (
        "The line waits for all results of the pool: let it work ahead, with imap() or "
        "apply_async(), and take what is ready."
    ),
    r"(?:\bplt|\bax|\bfig|canvas)\.\w+\(": (
        "The line draws: draw less often, or in another process."
    ),
    r"\.tolist\(|\.item\(": (
        "The line makes a Python object of each number: compute with the NumPy array."
    ),
}


def advice_on_text(text: str, *, each_step: bool) -> str | None:
    """What to do about a line whose text is known to be slow: wherever it runs if it works on data,
    else if each step runs it."""
    known = _OF_STEPS | _OF_DATA if each_step else _OF_DATA
    return next((advice for says, advice in known.items() if re.search(says, text)), None)
