"""Lines of programs that are known to be slow say what to do; others say nothing."""

from __future__ import annotations

import pytest

from strategy_profiles.analysis.advice.known_lines import advice_on_text


@pytest.mark.parametrize(
    ("text", "remedy"),
    [
        ("order = np.random.permutation(len(self.x))", "shuffle an array of row numbers"),
        ("random.shuffle(rows)", "shuffle an array of row numbers"),
        ("best = np.argsort(-scores)[:k]", "np.argpartition()"),
        ("print(step, loss, flush=True)", "flush() and fsync()"),
        ("digest = hashlib.sha256(x.tobytes()).hexdigest()", "only what has changed"),
        ("np.savez_compressed(path, **weights)", "The line writes"),
        ("with open(path, 'w') as file:", "The line writes"),
        ("subprocess.run(['df', '-h'])", "starts a process"),
        ("used = psutil.Process().memory_info().rss", "measures the process itself"),
        ("batch = next(iter(dataset))", "make the iterator once"),
        ("tf.keras.backend.clear_session()", "leave the call out"),
        ("optimizer = tf.keras.optimizers.Adam(rate)", "make it once"),
        ("with multiprocessing.Pool(4) as pool:", "start them once"),
        ("parts = pool.map(work, rows)", "imap()"),
        ("state, reward, done, _ = env.step(action)", "all of their actions in one call"),
    ],
)
def test_a_line_that_each_step_runs(text: str, remedy: str) -> None:
    assert remedy in (advice_on_text(text, each_step=True) or "")
    assert advice_on_text(text, each_step=False) is None


@pytest.mark.parametrize(
    ("text", "remedy"),
    [
        ("self.memory.pop(0)", "collections.deque"),
        ("rows = cursor.fetchall()", "in one query"),
        ("with open(path) as file:", "read once"),
        ("page = requests.get(url)", "asks a server"),
        ("log = log.append(row, ignore_index=True)", "pandas copies all rows"),
        ("x = matrix[rows].toarray()", "all the zeros"),
        ("gaps = bank[:, None] - bank[None]", "compares each row with each other"),
        ("top = np.linalg.svd(kernel)[1][0]", "third power"),
        ("tree = KDTree(points)", "builds an index"),
        ("score = roc_auc_score(truth, predicted)", "batch by batch"),
        ("text = re.sub('[^a-z]', ' ', text)", "one text after the other"),
        ("turned = ndimage.rotate(picture, angle)", "one picture or sound after the other"),
        ("small = image.resize((32, 32))", "one picture or sound after the other"),
    ],
)
def test_a_line_that_works_on_data_wherever_it_runs(text: str, remedy: str) -> None:
    for each_step in (True, False):
        assert remedy in (advice_on_text(text, each_step=each_step) or "")


@pytest.mark.parametrize(
    "text",
    [
        "small = tf.image.resize(pictures, (32, 32))",
        "sigma = tf.linalg.svd(kernel, compute_uv=False)",
        "spectrum = tf.signal.stft(sound, 256, 128)",
        "centred = rows - rows.mean()",
        "with self.saved() as file:",
        "value = session.get(key)",
        "state.update(loss)",
        "total += 1",
    ],
)
def test_a_line_that_may_be_slow_for_any_reason_says_nothing(text: str) -> None:
    assert advice_on_text(text, each_step=True) is None
