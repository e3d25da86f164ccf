# Stands in for wollomatic/socket-proxy where no image registry can be reached.
FROM evictd-lab-base
COPY socket_proxy.py /socket_proxy.py
EXPOSE 2375
ENTRYPOINT ["python3", "/socket_proxy.py"]
