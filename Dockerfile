# The service in an image: docs/deployment.md says how to run it.
#   docker build --tag dtrbandit .
FROM python:3.13 AS build
WORKDIR /source
COPY LICENSE README.md pyproject.toml setup.py ./
COPY src src
# Kernels are compiled here; what runs has no compiler.
RUN pip wheel --no-cache-dir --no-deps --wheel-dir /wheels . \
    && python -m venv /opt/dtrbandit \
    && /opt/dtrbandit/bin/pip install --no-cache-dir "$(echo /wheels/dtrbandit-*.whl)[serve,postgres]"

FROM python:3.13-slim
COPY --from=build /opt/dtrbandit /opt/dtrbandit
ENV PATH=/opt/dtrbandit/bin:$PATH \
    DTRBANDIT_STORAGE=sqlite:////data/trial.db \
    DTRBANDIT_SNAPSHOTS=/data/snapshots \
    MPLCONFIGDIR=/tmp \
    PYTHONDONTWRITEBYTECODE=1 \
    PYTHONUNBUFFERED=1
RUN useradd --system --uid 10001 --no-create-home dtrbandit \
    && install --directory --owner=10001 --group=root --mode=0700 /data
USER 10001
VOLUME /data
EXPOSE 8000
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=5s --start-period=120s --retries=3 \
    CMD ["python", "-c", "import urllib.request; urllib.request.urlopen('http://127.0.0.1:8000/ready', timeout=4)"]
# A proxy that speaks TLS stands in front: nothing else may reach this port.
ENTRYPOINT ["dtrbandit"]
CMD ["serve", "--host", "0.0.0.0", "--behind-proxy"]
