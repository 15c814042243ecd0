import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.apache.kafka.common.config.ConfigDef;
import org.apache.kafka.connect.connector.Task;
import org.apache.kafka.connect.data.Schema;
import org.apache.kafka.connect.source.ExactlyOnceSupport;
import org.apache.kafka.connect.source.SourceConnector;
import org.apache.kafka.connect.source.SourceRecord;
import org.apache.kafka.connect.source.SourceTask;

/**
 * Numbers as a source. Each source partition {"p": i} holds 0, 1, 2, ... up to what the file `source` says that each
 * partition holds by now, and number n of partition i becomes a record "i:n". Of `drop.every` numbers the last is
 * dropped. Where a task resumes it knows from its offset storage alone. The offset's forms are those of real connectors.
 */
public class NumberedSource extends SourceConnector {
    private Map<String, String> settings;

    @Override public String version() { return "1"; }
    @Override public void start(Map<String, String> props) { settings = props; }
    @Override public void stop() { }
    @Override public Class<? extends Task> taskClass() { return NumberedTask.class; }
    @Override public ConfigDef config() { return new ConfigDef(); }
    @Override public ExactlyOnceSupport exactlyOnceSupport(Map<String, String> props) {
        return ExactlyOnceSupport.SUPPORTED;
    }
    /** KIP-875: SourceConnector has it from 3.6 on. */
    public boolean alterOffsets(Map<String, String> props, Map<Map<String, ?>, Map<String, ?>> offsets) {
        return true;
    }

    @Override public List<Map<String, String>> taskConfigs(int maxTasks) {
        int partitions = Integer.parseInt(settings.get("partitions"));
        List<Map<String, String>> configs = new ArrayList<>();
        for (int task = 0; task < Math.min(maxTasks, partitions); task++) {
            Map<String, String> config = new HashMap<>(settings);
            List<String> mine = new ArrayList<>();
            for (int index = task; index < partitions; index += Math.min(maxTasks, partitions)) mine.add("" + index);
            config.put("mine", String.join(",", mine));
            configs.add(config);
        }
        return configs;
    }

    /** One source partition: `next` is the number to read next. */
    private static class Partition {
        final Map<String, Integer> key;
        final int index;
        long next;
        long beats;
        long snapshotEnd = -1;
        long snapshotLsn;

        Partition(int index) {
            this.index = index;
            key = Collections.singletonMap("p", index);
        }
    }

    public static class NumberedTask extends SourceTask {
        private static final long SHAPE_CHANGES_AT = 60;
        private static final long BEAT_EVERY_MS = 2000;
        private final List<Partition> partitions = new ArrayList<>();
        private Path source;
        private List<String> topics;
        private String form;
        private String heartbeat;
        private int batch;
        private int pauseMs;
        private int dropEvery;
        private long lastBeat;

        @Override public String version() { return "1"; }
        @Override public void stop() { }

        @Override public void start(Map<String, String> props) {
            source = Path.of(props.get("source"));
            topics = Arrays.asList(props.get("topics").split(","));
            form = props.getOrDefault("form", "position");
            heartbeat = props.getOrDefault("heartbeat", "none");
            batch = Integer.parseInt(props.getOrDefault("batch", "10"));
            pauseMs = Integer.parseInt(props.getOrDefault("pause.ms", "100"));
            dropEvery = Integer.parseInt(props.getOrDefault("drop.every", "0"));
            for (String index : props.get("mine").split(",")) {
                Partition partition = new Partition(Integer.parseInt(index));
                resume(partition, context.offsetStorageReader().offset(partition.key));
                partitions.add(partition);
            }
        }

        private void resume(Partition partition, Map<String, Object> offset) {
            boolean snapshot = form.equals("snapshot");
            if (offset == null || (snapshot && Boolean.FALSE.equals(offset.get("snapshot_completed")))) {
                partition.snapshotEnd = snapshot ? Math.max(1, end()) : -1;
                partition.snapshotLsn = System.currentTimeMillis();
            } else if (offset.containsKey("gtid")) {
                partition.next = Long.parseLong(offset.get("gtid").toString().split(":1-")[1]);
            } else {
                for (String member : new String[] {"position", "pos", "txId"}) {
                    if (offset.containsKey(member)) partition.next = ((Number) offset.get(member)).longValue();
                }
            }
            if (offset != null && offset.containsKey("beat")) {
                partition.beats = ((Number) offset.get("beat")).longValue();
            }
        }

        private long end() {
            try {
                return Long.parseLong(Files.readString(source).trim());
            } catch (NoSuchFileException error) {
                return 0;
            } catch (IOException error) {
                throw new java.io.UncheckedIOException(error);
            }
        }

        @Override public List<SourceRecord> poll() throws InterruptedException {
            Thread.sleep(pauseMs);
            long end = end();
            List<SourceRecord> records = new ArrayList<>();
            for (Partition partition : partitions) read(partition, end, records);
            if (records.isEmpty()) beat(records);
            return records.isEmpty() ? null : records;
        }

        private void read(Partition partition, long end, List<SourceRecord> records) {
            for (int count = 0; count < batch && partition.next < end; count++) {
                long number = partition.next++;
                if (dropEvery > 0 && number % dropEvery == dropEvery - 1) continue;
                String topic = topics.get((int) (number % topics.size()));
                records.add(record(partition, offset(partition), topic, partition.index + ":" + number));
            }
        }

        private static SourceRecord record(Partition partition, Map<String, ?> offset, String topic, String value) {
            return new SourceRecord(partition.key, offset, topic, Schema.STRING_SCHEMA, value);
        }

        private Map<String, Object> offset(Partition partition) {
            Map<String, Object> offset = new LinkedHashMap<>();
            long next = partition.next;
            switch (form) {
                case "none": return null;
                case "half": if (partition.index % 2 == 1) return null; offset.put("position", next); break;
                case "gtid": offset.put("gtid", "3e11fa47-71ca-11e1-9e33-c80aa9429562:1-" + next); break;
                case "changing":
                    if (next < SHAPE_CHANGES_AT) offset.put("position", next);
                    else offset.putAll(new TreeMap<>(Map.of("file", "binlog.000002", "pos", next)));
                    break;
                case "snapshot": snapshotOffset(partition, offset); break;
                default: offset.put("position", next);
            }
            if (partition.beats > 0) offset.put("beat", partition.beats);
            return offset;
        }

        /** As Debezium's: within a snapshot no offset tells how far it is, and one that was interrupted begins again. */
        private static void snapshotOffset(Partition partition, Map<String, Object> offset) {
            if (partition.snapshotEnd >= partition.next) {
                offset.put("last_snapshot_record", partition.snapshotEnd == partition.next);
                offset.put("lsn", partition.snapshotLsn);
                offset.put("txId", partition.snapshotEnd);
                offset.put("snapshot", "INITIAL");
                offset.put("snapshot_completed", partition.snapshotEnd == partition.next);
            } else {
                offset.put("lsn", System.currentTimeMillis());
                offset.put("txId", partition.next);
            }
        }

        private void beat(List<SourceRecord> records) {
            long now = System.currentTimeMillis();
            if (heartbeat.equals("none") || now - lastBeat < BEAT_EVERY_MS) return;
            lastBeat = now;
            for (Partition partition : partitions) {
                if (partition.next == 0) continue;
                if (heartbeat.equals("advance")) partition.beats++;
                records.add(record(partition, offset(partition), topics.get(0) + "-heartbeat", "heartbeat"));
            }
        }
    }
}
