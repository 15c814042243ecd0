import java.util.Collections;
import java.util.Map;
import java.util.Set;
import org.apache.kafka.connect.json.JsonConverter;
import org.apache.kafka.connect.storage.Converter;
import org.apache.kafka.connect.storage.MemoryOffsetBackingStore;
import org.apache.kafka.connect.storage.OffsetStorageReaderImpl;
import org.apache.kafka.connect.storage.OffsetStorageWriter;

/**
 * A connector whose source partition is null (SourceRecord allows that) has its offset written and never found again.
 *
 * No argument, no broker. Needs Kafka Connect's jars only. Exit code 0: reproduced, 1: not.
 */
public class NullSourcePartition {
    private static final Map<String, Object> OFFSET = Map.of("position", 1000L);

    public static void main(String[] args) throws Exception {
        MemoryOffsetBackingStore store = new MemoryOffsetBackingStore() {
            public Set<Map<String, Object>> connectorPartitions(String connectorName) {
                return Set.of();
            }
        };
        store.start();
        OffsetStorageWriter writer = new OffsetStorageWriter(store, "my-connector", converter(true), converter(false));
        writer.offset(null, OFFSET);
        writer.beginFlush();
        writer.doFlush((error, result) -> System.out.println("written: " + (error == null ? OFFSET : error))).get();

        OffsetStorageReaderImpl reader =
            new OffsetStorageReaderImpl(store, "my-connector", converter(true), converter(false));
        Map<String, Object> several = reader.offsets(Collections.singletonList((Map<String, Object>) null)).get(null);
        System.out.println("offsets([null]): " + several);
        Object one;
        try {
            one = reader.offset((Map<String, Object>) null);
        } catch (RuntimeException error) {
            one = error;
        }
        System.out.println("offset(null): " + one);
        boolean reproduced = several == null && one instanceof NullPointerException;
        System.out.println(reproduced ? "REPRODUCED: the connector begins from nothing" : "NOT REPRODUCED");
        System.exit(reproduced ? 0 : 1);
    }

    private static Converter converter(boolean isKey) {
        JsonConverter converter = new JsonConverter();
        converter.configure(Map.of("schemas.enable", "false"), isKey);
        return converter;
    }
}
