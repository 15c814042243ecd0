import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.Collections;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.apache.kafka.common.config.ConfigDef;
import org.apache.kafka.connect.connector.Task;
import org.apache.kafka.connect.data.Schema;
import org.apache.kafka.connect.source.ConnectorTransactionBoundaries;
import org.apache.kafka.connect.source.ExactlyOnceSupport;
import org.apache.kafka.connect.source.SourceConnector;
import org.apache.kafka.connect.source.SourceRecord;
import org.apache.kafka.connect.source.SourceTask;

/** A connector whose source partitions are as odd as Connect lets them be. Its one task writes "index:round" for each. */
public class OddPartitionsSource extends SourceConnector {
    private Map<String, String> settings;

    @Override public String version() { return "1"; }
    @Override public void start(Map<String, String> props) { settings = props; }
    @Override public Class<? extends Task> taskClass() { return OddTask.class; }
    @Override public List<Map<String, String>> taskConfigs(int maxTasks) { return Collections.singletonList(settings); }
    @Override public void stop() { }
    @Override public ConfigDef config() { return new ConfigDef(); }
    @Override public ExactlyOnceSupport exactlyOnceSupport(Map<String, String> props) {
        return ExactlyOnceSupport.SUPPORTED;
    }

    @Override public ConnectorTransactionBoundaries canDefineTransactionBoundaries(Map<String, String> props) {
        return ConnectorTransactionBoundaries.SUPPORTED;
    }

    static List<Map<String, ?>> partitions() {
        List<Map<String, ?>> all = new ArrayList<>();
        all.add(null);
        all.add(Collections.emptyMap());
        all.add(Collections.singletonMap("file", "日本語 é \uD83D\uDE00 \uD835\uDD18"));
        all.add(Collections.singletonMap("path", "a\"b\\c/d\b\f\n\r\t\u0001\u001f\u007f\u0085\u2028\ufeff"));
        all.add(Collections.singletonMap("n\u00e4me \"\\\uD83D\uDE00", "v"));
        all.add(ordered("int", 1, "least", Integer.MIN_VALUE));
        all.add(ordered("long", Long.MAX_VALUE, "least", Long.MIN_VALUE));
        all.add(ordered("double", 1.0E10, "tiny", 4.9E-324, "tenth", 0.1, "whole", 100.0));
        all.add(ordered("third", 1.0 / 3, "greatest", Double.MAX_VALUE, "minus", -0.0, "power", 2.0E-3));
        all.add(ordered("float", 0.1f, "short", (short) 7, "byte", (byte) -1));
        all.add(ordered("true", true, "null", null, "bytes", "\u0000\u00ff".getBytes()));
        all.add(ordered("z", 1L, "a", 2L, "m", 3L));
        all.add(new TreeMap<>(ordered("z", 1L, "a", 2L, "m", 4L)));
        Map<String, Object> many = new HashMap<>();
        for (int number = 0; number < 40; number++) many.put("member-" + number, number);
        all.add(many);
        return all;
    }

    private static Map<String, Object> ordered(Object... members) {
        Map<String, Object> map = new LinkedHashMap<>();
        for (int at = 0; at < members.length; at += 2) map.put((String) members[at], members[at + 1]);
        return map;
    }

    public static class OddTask extends SourceTask {
        private final List<Map<String, ?>> partitions = partitions();
        private long[] rounds;
        private String topic;

        @Override public String version() { return "1"; }
        @Override public void stop() { }

        @Override public void start(Map<String, String> props) {
            topic = props.get("topic");
            rounds = new long[partitions.size()];
            for (int index = 0; index < rounds.length; index++) {
                rounds[index] = round(found(partitions.get(index)));
            }
        }

        @SuppressWarnings("unchecked")
        private Map<String, Object> found(Map<String, ?> partition) {
            Collection<Map<String, Object>> asked = Arrays.asList((Map<String, Object>) partition);
            return context.offsetStorageReader().offsets(asked).get((Map<String, Object>) partition);
        }

        private static long round(Map<String, Object> offset) {
            return offset == null ? 0 : ((Number) offset.get("round")).longValue();
        }

        @Override public List<SourceRecord> poll() throws InterruptedException {
            Thread.sleep(100);
            List<SourceRecord> records = new ArrayList<>();
            for (int index = 0; index < rounds.length; index++) {
                rounds[index]++;
                Map<String, Long> offset = Collections.singletonMap("round", rounds[index]);
                String value = index + ":" + rounds[index];
                records.add(new SourceRecord(partitions.get(index), offset, topic, Schema.STRING_SCHEMA, value));
            }
            return records;
        }
    }
}
