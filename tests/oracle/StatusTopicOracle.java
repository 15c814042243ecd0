import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.BufferedInputStream;
import java.io.DataInputStream;
import java.io.EOFException;
import java.io.PrintStream;
import java.lang.reflect.Constructor;
import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.nio.charset.StandardCharsets;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.function.Supplier;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.connect.json.JsonConverter;
import org.apache.kafka.connect.runtime.AbstractStatus;
import org.apache.kafka.connect.runtime.TaskStatus;
import org.apache.kafka.connect.runtime.TopicStatus;
import org.apache.kafka.connect.storage.KafkaStatusBackingStore;

/**
 * Shows what Kafka's own KafkaStatusBackingStore makes of single records of a status topic, one line of JSON each.
 *
 * Records come on stdin: int length and bytes of key and of value, length -1 for null. Each is read by a store of its own;
 * the line has the status that the store then holds, and no members where it holds none.
 */
public class StatusTopicOracle {
    private static final String TOPIC = "connect-status";
    private static final ObjectMapper JSON = new ObjectMapper();

    public static void main(String[] args) throws Exception {
        PrintStream out = new PrintStream(System.out, true, StandardCharsets.UTF_8);
        DataInputStream in = new DataInputStream(new BufferedInputStream(System.in, 1 << 16));
        while (true) {
            byte[] key;
            try {
                key = bytes(in);
            } catch (EOFException e) {
                return;
            }
            out.println(JSON.writeValueAsString(statusAfter(key, bytes(in))));
        }
    }

    private static Map<String, Object> statusAfter(byte[] key, byte[] value) throws Exception {
        KafkaStatusBackingStore store = store();
        Method read = KafkaStatusBackingStore.class.getDeclaredMethod("read", ConsumerRecord.class);
        read.setAccessible(true);
        String text = new StringDeserializer().deserialize(TOPIC, key);
        try {
            read.invoke(store, new ConsumerRecord<>(TOPIC, 0, 0L, text, value));
        } catch (java.lang.reflect.InvocationTargetException e) {
            return Map.of();
        }
        for (String connector : store.connectors()) {
            if (store.get(connector) != null) {
                return found("connector", connector, null, null, store.get(connector));
            }
        }
        Object tasks = field(KafkaStatusBackingStore.class, "tasks").get(store);
        for (Object connector : ((Map<?, ?>) field(tasks.getClass(), "table").get(tasks)).keySet()) {
            for (TaskStatus task : store.getAll((String) connector)) {
                return found("task", task.id().connector(), task.id().task(), null, task);
            }
        }
        Map<?, ?> topics = (Map<?, ?>) field(KafkaStatusBackingStore.class, "topics").get(store);
        for (Map.Entry<?, ?> connector : topics.entrySet()) {
            for (Map.Entry<?, ?> topic : ((Map<?, ?>) connector.getValue()).entrySet()) {
                TopicStatus status = (TopicStatus) topic.getValue();
                return found("topic", (String) connector.getKey(), status.task(), (String) topic.getKey(), null);
            }
        }
        return Map.of();
    }

    private static Map<String, Object> found(
            String kind, String connector, Integer task, String topic, AbstractStatus<?> status) {
        Map<String, Object> answer = new LinkedHashMap<>();
        answer.put("kind", kind);
        answer.put("connector", connector);
        answer.put("task", task);
        answer.put("topic", topic);
        answer.put("state", status == null ? null : status.state().name());
        answer.put("trace", status == null ? null : status.trace());
        answer.put("worker_id", status == null ? null : status.workerId());
        answer.put("generation", status == null ? null : status.generation());
        return answer;
    }

    private static KafkaStatusBackingStore store() throws Exception {
        JsonConverter converter = new JsonConverter();
        converter.configure(Map.of("schemas.enable", "false"), false);
        for (Constructor<?> each : KafkaStatusBackingStore.class.getDeclaredConstructors()) {
            if (each.getParameterCount() == 4 && each.getParameterTypes()[2] == Supplier.class) {
                each.setAccessible(true);
                KafkaStatusBackingStore store =
                        (KafkaStatusBackingStore) each.newInstance(Time.SYSTEM, converter, null, "oracle");
                field(KafkaStatusBackingStore.class, "statusTopic").set(store, TOPIC);
                return store;
            }
        }
        throw new IllegalStateException("KafkaStatusBackingStore has no such constructor");
    }

    private static Field field(Class<?> owner, String name) throws Exception {
        Field found = owner.getDeclaredField(name);
        found.setAccessible(true);
        return found;
    }

    private static byte[] bytes(DataInputStream in) throws Exception {
        int length = in.readInt();
        if (length < 0) {
            return null;
        }
        byte[] found = new byte[length];
        in.readFully(found);
        return found;
    }
}
