import java.util.Properties;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.StreamsConfig;

/**
 * A Streams application with exactly_once_v2 and two threads, until it is killed. It copies records from one topic to
 * another, or counts words in a persistent store. Arguments: bootstrap servers, application.id, topic to read, topic to
 * write, directory of its state, then "counts" or nothing, then its client.id or nothing,
 * then its group.protocol or nothing.
 */
public class WordCount {
    public static void main(String[] args) throws Exception {
        Properties settings = new Properties();
        settings.put(StreamsConfig.BOOTSTRAP_SERVERS_CONFIG, args[0]);
        settings.put(StreamsConfig.APPLICATION_ID_CONFIG, args[1]);
        settings.put(StreamsConfig.PROCESSING_GUARANTEE_CONFIG, StreamsConfig.EXACTLY_ONCE_V2);
        settings.put(StreamsConfig.STATE_DIR_CONFIG, args[4]);
        settings.put(StreamsConfig.DEFAULT_KEY_SERDE_CLASS_CONFIG, Serdes.StringSerde.class);
        settings.put(StreamsConfig.DEFAULT_VALUE_SERDE_CLASS_CONFIG, Serdes.StringSerde.class);
        settings.put(StreamsConfig.NUM_STREAM_THREADS_CONFIG, 2);
        settings.put(StreamsConfig.COMMIT_INTERVAL_MS_CONFIG, 9000);
        settings.put(StreamsConfig.consumerPrefix("auto.offset.reset"), "earliest");
        settings.put(StreamsConfig.consumerPrefix("session.timeout.ms"), 6000);
        settings.put(StreamsConfig.producerPrefix("transaction.timeout.ms"), 10000);
        settings.put("statestore.cache.max.bytes", "0");
        if (args.length > 6) {
            settings.put(StreamsConfig.CLIENT_ID_CONFIG, args[6]);
        }
        if (args.length > 7) {
            settings.put("group.protocol", args[7]);
        }
        StreamsBuilder builder = new StreamsBuilder();
        if (args.length > 5 && args[5].equals("counts")) {
            builder.<String, String>stream(args[2]).groupByKey().count().toStream().mapValues(String::valueOf).to(args[3]);
        } else {
            builder.<String, String>stream(args[2]).to(args[3]);
        }
        KafkaStreams streams = new KafkaStreams(builder.build(), settings);
        streams.start();
        Thread.sleep(Long.MAX_VALUE);
    }
}
