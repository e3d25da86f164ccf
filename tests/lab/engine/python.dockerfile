# Stands in for python:3.12-slim where no image registry can be reached: any Python from 3.11 on will do.
# The broker's programs go, so that a test shows it when the product's image would need them.
FROM evictd-lab-base
RUN rm -f /usr/sbin/mosquitto /usr/bin/mosquitto_*
CMD ["python3"]
