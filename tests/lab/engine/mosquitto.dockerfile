# Stands in for eclipse-mosquitto:2.1.2-alpine where no image registry can be reached: the same user,
# folders, port and command, with Debian's Mosquitto.  Python goes: the real image has none.
FROM evictd-lab-base
RUN rm -rf /usr/bin/python3* /usr/lib/python3* \
 && usermod --uid 1883 mosquitto && groupmod --gid 1883 mosquitto \
 && mkdir -p /mosquitto/config /mosquitto/data /mosquitto/log \
 && chown -R mosquitto:mosquitto /mosquitto
VOLUME ["/mosquitto/data", "/mosquitto/log"]
EXPOSE 1883
ENV PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
CMD ["/usr/sbin/mosquitto", "-c", "/mosquitto/config/mosquitto.conf"]
