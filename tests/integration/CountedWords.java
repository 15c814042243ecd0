import java.io.FileReader;
import java.io.Reader;
import java.nio.file.Path;
import java.util.Properties;
import java.util.concurrent.atomic.AtomicBoolean;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.errors.StreamsUncaughtExceptionHandler.StreamThreadExceptionResponse;

/**
 * Streams applications with exactly_once_v2 that count words, with a repartition and a changelog topic. A line of
 * standard output says of each that it ended, and why. Arguments: client properties, directory of states, then
 * application.ids; each reads in-ID and writes out-ID.
 */
public class CountedWords {
    public static void main(String[] args) throws Exception {
        for (int number = 2; number < args.length; number++) {
            start(args[0], Path.of(args[1]), args[number]);
        }
        System.in.read();
        Runtime.getRuntime().halt(0);
    }

    private static void start(String client, Path states, String name) throws Exception {
        Properties settings = new Properties();
        try (Reader reader = new FileReader(client)) {
            settings.load(reader);
        }
        settings.put(StreamsConfig.APPLICATION_ID_CONFIG, name);
        settings.put(StreamsConfig.PROCESSING_GUARANTEE_CONFIG, StreamsConfig.EXACTLY_ONCE_V2);
        settings.put(StreamsConfig.STATE_DIR_CONFIG, states.resolve(name).toString());
        settings.put(StreamsConfig.DEFAULT_KEY_SERDE_CLASS_CONFIG, Serdes.StringSerde.class);
        settings.put(StreamsConfig.DEFAULT_VALUE_SERDE_CLASS_CONFIG, Serdes.StringSerde.class);
        settings.put(StreamsConfig.NUM_STREAM_THREADS_CONFIG, 1);
        settings.put(StreamsConfig.REPLICATION_FACTOR_CONFIG, 1);
        settings.put(StreamsConfig.COMMIT_INTERVAL_MS_CONFIG, 200);
        settings.put("repartition.purge.interval.ms", 1000);
        settings.put(StreamsConfig.consumerPrefix("auto.offset.reset"), "earliest");
        StreamsBuilder builder = new StreamsBuilder();
        builder.<String, String>stream("in-" + name)
            .groupBy((key, value) -> value)
            .count()
            .toStream()
            .mapValues(String::valueOf)
            .to("out-" + name);
        KafkaStreams streams = new KafkaStreams(builder.build(), settings);
        AtomicBoolean said = new AtomicBoolean();
        streams.setUncaughtExceptionHandler(error -> {
            Throwable cause = error;
            while (cause.getCause() != null) {
                cause = cause.getCause();
            }
            if (said.compareAndSet(false, true)) {
                System.out.println(name + " " + cause.getClass().getSimpleName() + " " + error.getMessage().replace('\n', ' '));
            }
            return StreamThreadExceptionResponse.SHUTDOWN_CLIENT;
        });
        streams.start();
    }
}
