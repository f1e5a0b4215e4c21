# The lab in a container: CPU by default, NVIDIA GPUs with
#   docker build --build-arg ACCELERATOR=cuda -t strategy-lab:cuda .
#   docker run --gpus all -p 127.0.0.1:8501:8501 -v "$PWD/runs:/runs" strategy-lab:cuda
# It prints the address to open, with a token (docs/security.md). Another port than 8501 outside
# needs --allow-host 127.0.0.1:PORT after `strategy-lab ui ...`.
FROM debian:bookworm-slim

# cpu or cuda: which lock file is installed
ARG ACCELERATOR=cpu

ENV PYTHONUNBUFFERED=1 \
    PIP_NO_CACHE_DIR=1 \
    PIP_DISABLE_PIP_VERSION_CHECK=1 \
    PATH=/opt/venv/bin:$PATH

RUN apt-get update \
    && apt-get install -y --no-install-recommends python3 python3-venv tini \
    && rm -rf /var/lib/apt/lists/* \
    && python3 -m venv /opt/venv

WORKDIR /opt/strategy-lab

# Dependencies first: a change of the code does not fetch TensorFlow again.
COPY requirements requirements
RUN case "$ACCELERATOR" in \
      cpu) python3 requirements/install.py --compile --require-hashes -r requirements/all.lock ;; \
      cuda) python3 requirements/install.py --compile --require-hashes -r requirements/cuda.lock ;; \
      *) echo "ACCELERATOR=$ACCELERATOR is unknown. Set it to cpu or cuda." >&2; exit 2 ;; \
    esac

COPY pyproject.toml README.md LICENSE ./
COPY profiles profiles
COPY strategy_core strategy_core
COPY app app
COPY plugins plugins
RUN python3 requirements/install.py --compile --no-deps --no-build-isolation .

RUN useradd --create-home --uid 1000 lab \
    && mkdir -p /runs \
    && chown lab /runs
USER lab
WORKDIR /home/lab
VOLUME /runs
EXPOSE 8501

# Answers without the token, and says nothing but ok.
HEALTHCHECK --interval=10s --timeout=3s --start-period=30s \
    CMD ["python3", "-c", "import urllib.request as u; u.urlopen('http://127.0.0.1:8501/healthz', timeout=2)"]

# tini reaps and forwards signals, so that a stopped container stops its workers.
ENTRYPOINT ["tini", "--"]
CMD ["strategy-lab", "ui", "--host", "0.0.0.0", "--port", "8501", "--runs", "/runs"]
