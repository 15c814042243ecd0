import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;
import org.apache.kafka.connect.json.JsonConverter;
import org.apache.kafka.connect.runtime.WorkerConfig;
import org.apache.kafka.connect.runtime.distributed.DistributedConfig;
import org.apache.kafka.connect.storage.ConnectorOffsetBackingStore;
import org.apache.kafka.connect.storage.KafkaOffsetBackingStore;
import org.apache.kafka.connect.storage.OffsetBackingStore;
import org.apache.kafka.connect.util.LoggingContext;
import org.apache.kafka.connect.util.TopicAdmin;

/**
 * A source connector that gets an offsets topic of its own (offsets.storage.topic) loses the offsets that it has in the
 * workers' offsets topic, although KIP-618 says that they are used until the new topic has them.
 *
 * Argument: bootstrap servers. Needs Kafka's jars only. Exit code 0: reproduced, 1: not.
 */
public class NullShadow {
    private static final ByteBuffer KEY = bytes("[\"my-connector\",{\"file\":\"a\"}]");
    private static final ByteBuffer OFFSET = bytes("{\"position\":1000}");

    public static void main(String[] args) throws Exception {
        String suffix = Long.toString(System.currentTimeMillis());
        String workersTopic = "workers-offsets-" + suffix;
        String ownTopic = "own-offsets-" + suffix;
        TopicAdmin admin = new TopicAdmin(Map.of("bootstrap.servers", args[0]));
        OffsetBackingStore workers = store(args[0], workersTopic, admin);
        workers.start();
        workers.set(Map.of(KEY, OFFSET), (error, result) -> { }).get();

        // As Worker.offsetStoreForExactlyOnceSourceTask and offsetStoreForRegularSourceTask build it.
        KafkaOffsetBackingStore own = store(args[0], ownTopic, admin);
        ConnectorOffsetBackingStore both = ConnectorOffsetBackingStore.withConnectorAndWorkerStores(
            () -> LoggingContext.forConnector("my-connector"), workers, own, ownTopic, admin);
        both.start();

        ByteBuffer before = workers.get(List.of(KEY)).get().get(KEY);
        ByteBuffer after = both.get(List.of(KEY)).get().get(KEY);
        System.out.println("offset in the workers' topic:                     " + text(before));
        System.out.println("offset of the connector with a topic of its own:  " + text(after));
        boolean reproduced = OFFSET.equals(before) && after == null;
        System.out.println(reproduced ? "REPRODUCED: the connector begins from nothing" : "NOT REPRODUCED");
        System.exit(reproduced ? 0 : 1);
    }

    private static KafkaOffsetBackingStore store(String servers, String topic, TopicAdmin admin) {
        Map<String, Object> clients = Map.of("bootstrap.servers", servers, "auto.offset.reset", "earliest");
        JsonConverter converter = new JsonConverter();
        converter.configure(Map.of("schemas.enable", "false"), true);
        KafkaOffsetBackingStore store = KafkaOffsetBackingStore.readWriteStore(
            topic,
            new KafkaProducer<>(clients, new ByteArraySerializer(), new ByteArraySerializer()),
            new KafkaConsumer<>(clients, new ByteArrayDeserializer(), new ByteArrayDeserializer()),
            admin,
            converter);
        store.configure(workerConfig(servers));
        return store;
    }

    private static WorkerConfig workerConfig(String servers) {
        Map<String, String> worker = new HashMap<>();
        worker.put("bootstrap.servers", servers);
        worker.put("group.id", "connect-cluster");
        worker.put("key.converter", JsonConverter.class.getName());
        worker.put("value.converter", JsonConverter.class.getName());
        for (String kind : List.of("config", "offset", "status")) {
            worker.put(kind + ".storage.topic", "connect-" + kind);
            worker.put(kind + ".storage.replication.factor", "1");
        }
        worker.put("offset.storage.partitions", "1");
        return new DistributedConfig(worker);
    }

    private static ByteBuffer bytes(String text) {
        return ByteBuffer.wrap(text.getBytes(StandardCharsets.UTF_8));
    }

    private static String text(ByteBuffer bytes) {
        return bytes == null ? "none" : StandardCharsets.UTF_8.decode(bytes.duplicate()).toString();
    }
}
