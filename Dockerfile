# One image for every worker; the command says which one runs.
#
# BASE may be any image with Python 3.11 or later, its venv module, and a POSIX shell.
ARG BASE=python:3.12-slim

FROM ${BASE} AS build
WORKDIR /build
RUN python3 -m venv /opt/evictd
# The parts first, in the versions that the tests ran with: they change less often than our own code.
COPY pyproject.toml constraints.txt ./
RUN python3 -c 'import tomllib; print(*tomllib.load(open("pyproject.toml", "rb"))["project"]["dependencies"], sep="\n")' > parts.txt \
 && /opt/evictd/bin/pip install --no-cache-dir --requirement parts.txt --constraint constraints.txt
COPY README.md ./
COPY services services
COPY schemas schemas
RUN /opt/evictd/bin/pip install --no-cache-dir --constraint constraints.txt .

FROM ${BASE}
# The user has a fixed number, so that files in volumes stay readable across images, and the group
# root, so that a service which has to run as user 0 without any capability can write its state too.
RUN useradd --uid 10001 --gid 0 --no-create-home --home-dir /var/lib/evictd --shell /usr/sbin/nologin evictd \
 && install -d --owner 10001 --group 0 --mode 0770 /var/lib/evictd /run/evictd /run/node
COPY --from=build /opt/evictd /opt/evictd
# RUNTIME_DIRECTORY holds the sign of life that `evictd health` reads. Everything else is read-only.
ENV PATH=/opt/evictd/bin:$PATH \
    PYTHONDONTWRITEBYTECODE=1 \
    PYTHONUNBUFFERED=1 \
    RUNTIME_DIRECTORY=/run/evictd \
    EVICTD_STATEFOLDER=/var/lib/evictd
USER 10001:0
WORKDIR /var/lib/evictd
ENTRYPOINT ["evictd"]
CMD ["--help"]
