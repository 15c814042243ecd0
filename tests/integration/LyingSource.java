import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.config.ConfigDef;
import org.apache.kafka.connect.connector.Task;
import org.apache.kafka.connect.data.Schema;
import org.apache.kafka.connect.source.ConnectorTransactionBoundaries;
import org.apache.kafka.connect.source.ExactlyOnceSupport;
import org.apache.kafka.connect.source.SourceConnector;
import org.apache.kafka.connect.source.SourceRecord;
import org.apache.kafka.connect.source.SourceTask;
import org.apache.kafka.connect.source.TransactionContext;

/**
 * The lines of the file `file` as a source that claims to support exactly-once. `lie` says in which way that is not
 * true: none, behind, ahead, commit-record, task-key, order, undeclared, disk, gap. Offsets of unsteady are others each
 * time; all tasks of slow but the first begin late; gap leaves out a line of ten.
 *
 * With `boundary` it ends its own transactions, one for each poll or for each line (`each`), and aborts those whose last
 * line ends with the digit 7. With `state` it keeps its position in that directory too, before the records are sent:
 * disk goes on from there, and does not say so where the disk is full.
 */
public class LyingSource extends SourceConnector {
    private Map<String, String> settings;

    @Override public String version() { return "1"; }
    @Override public void start(Map<String, String> props) { settings = props; }
    @Override public void stop() { }
    @Override public Class<? extends Task> taskClass() { return LyingTask.class; }
    @Override public ConfigDef config() { return new ConfigDef(); }
    @Override public ExactlyOnceSupport exactlyOnceSupport(Map<String, String> props) {
        String lie = props.getOrDefault("lie", "none");
        if (lie.equals("undeclared")) return null;
        return lie.equals("unsupported") ? ExactlyOnceSupport.UNSUPPORTED : ExactlyOnceSupport.SUPPORTED;
    }
    @Override public ConnectorTransactionBoundaries canDefineTransactionBoundaries(Map<String, String> props) {
        return props.containsKey("boundary")
            ? ConnectorTransactionBoundaries.SUPPORTED : ConnectorTransactionBoundaries.UNSUPPORTED;
    }
    /** KIP-875: SourceConnector has it from 3.6 on. */
    public boolean alterOffsets(Map<String, String> props, Map<Map<String, ?>, Map<String, ?>> offsets) {
        return true;
    }

    /** Lanes are shared out among tasks: line n is in lane n % 4. */
    @Override public List<Map<String, String>> taskConfigs(int maxTasks) {
        int tasks = Math.min(maxTasks, LyingTask.LANES);
        List<Map<String, String>> configs = new ArrayList<>();
        for (int task = 0; task < tasks; task++) {
            Map<String, String> config = new HashMap<>(settings);
            config.put("task", "" + task);
            config.put("tasks", "" + tasks);
            configs.add(config);
        }
        return configs;
    }

    /** What is read next of one lane: the number of the line. */
    private static class Lane {
        Map<String, Object> key;
        int next;
        boolean resumed;
    }

    public static class LyingTask extends SourceTask {
        static final int LANES = 4;
        private static final int BATCH = 10;
        private static final long LATE_NS = 12_000_000_000L;
        private final List<Lane> lanes = new ArrayList<>();
        private Path file;
        private Path directory;
        private boolean keeps;
        private boolean each;
        private long begins;
        private String topic;
        private String lie;
        private TransactionContext transactions;

        @Override public String version() { return "1"; }
        @Override public void stop() { }

        @Override public void start(Map<String, String> props) {
            file = Path.of(props.get("file"));
            topic = props.get("topic");
            keeps = props.containsKey("state");
            directory = keeps ? Path.of(props.get("state")) : file.getParent();
            lie = props.getOrDefault("lie", "none");
            transactions = context.transactionContext();
            each = "each".equals(props.get("boundary"));
            int tasks = Integer.parseInt(props.get("tasks"));
            boolean late = lie.equals("slow") && !props.get("task").equals("0");
            begins = System.nanoTime() + (late ? LATE_NS : 0);
            for (int index = Integer.parseInt(props.get("task")); index < LANES; index += tasks) {
                Lane lane = new Lane();
                lane.key = new HashMap<>(Map.of("lane", index));
                if (lie.equals("task-key")) lane.key.put("tasks", tasks);
                lane.next = index;
                Map<String, Object> offset = context.offsetStorageReader().offset(lane.key);
                if (offset != null) lane.next = ((Number) offset.get("next")).intValue();
                if (lie.equals("commit-record") || lie.equals("disk")) lane.next = kept(index);
                lane.resumed = lane.next > index;
                lanes.add(lane);
            }
        }

        private Path state(int index) { return directory.resolve("state-" + index); }

        private int kept(int index) {
            try {
                return Files.exists(state(index)) ? Integer.parseInt(Files.readString(state(index))) : index;
            } catch (IOException error) {
                throw new UncheckedIOException(error);
            }
        }

        @Override public List<SourceRecord> poll() throws InterruptedException {
            Thread.sleep(20);
            if (System.nanoTime() < begins) return null;
            List<String> lines;
            try {
                lines = Files.readAllLines(file);
            } catch (IOException error) {
                throw new UncheckedIOException(error);
            }
            List<SourceRecord> records = new ArrayList<>();
            for (Lane lane : lanes) {
                read(lane, lines, records);
                if (keeps && !records.isEmpty()) keep(lane);
            }
            if (transactions != null && !records.isEmpty()) {
                for (SourceRecord last : each ? records : records.subList(records.size() - 1, records.size())) end(last);
            }
            return records.isEmpty() ? null : records;
        }

        /** A position is small, but so is a disk that is full. */
        private void keep(Lane lane) {
            try {
                int index = ((Number) lane.key.get("lane")).intValue();
                Path written = directory.resolve("new-" + index);
                Files.writeString(written, "" + lane.next);
                Files.move(written, state(index), StandardCopyOption.REPLACE_EXISTING);
            } catch (IOException error) {
                if (!lie.equals("disk")) throw new UncheckedIOException(error);
            }
        }

        private void end(SourceRecord last) {
            if (last.value().toString().endsWith("7")) transactions.abortTransaction(last);
            else transactions.commitTransaction(last);
        }

        private void read(Lane lane, List<String> lines, List<SourceRecord> records) {
            List<SourceRecord> found = new ArrayList<>();
            while (found.size() < BATCH && lane.next < lines.size()) {
                int line = lane.next;
                lane.next += LANES;
                if (lie.equals("gap") && line % 10 == 3) continue;
                int behind = lie.equals("behind") ? line : lie.equals("ahead") ? line + 2 * LANES : lane.next;
                Map<String, Object> offset = new HashMap<>(Map.of("next", behind));
                if (lie.equals("unsteady")) offset.put("at", System.nanoTime());
                SourceRecord record = new SourceRecord(
                    lane.key, offset, topic, 0, null, null,
                    Schema.STRING_SCHEMA, lines.get(line));
                record.headers().addString("lane", lane.key.get("lane").toString());
                found.add(record);
            }
            if (lie.equals("order") && lane.resumed && found.size() > 1) {
                // Offsets stay in order, so that nothing is lost.
                for (int left = 0, right = found.size() - 1; left < right; left++, right--) swap(found, left, right);
                lane.resumed = false;
            }
            records.addAll(found);
        }

        private static void swap(List<SourceRecord> records, int left, int right) {
            SourceRecord first = records.get(left);
            SourceRecord second = records.get(right);
            records.set(left, with(first, second.value()));
            records.set(right, with(second, first.value()));
        }

        private static SourceRecord with(SourceRecord record, Object value) {
            return record.newRecord(record.topic(), 0, null, null, Schema.STRING_SCHEMA, value, null, record.headers());
        }

        @Override public void commitRecord(SourceRecord record, RecordMetadata metadata) {
            if (!lie.equals("commit-record")) return;
            try {
                int lane = ((Number) record.sourcePartition().get("lane")).intValue();
                Files.writeString(state(lane), record.sourceOffset().get("next").toString());
            } catch (IOException error) {
                throw new UncheckedIOException(error);
            }
        }
    }
}
