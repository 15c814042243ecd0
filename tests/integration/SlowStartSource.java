import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.apache.kafka.common.config.ConfigDef;
import org.apache.kafka.connect.connector.Task;
import org.apache.kafka.connect.data.Schema;
import org.apache.kafka.connect.source.SourceConnector;
import org.apache.kafka.connect.source.SourceRecord;
import org.apache.kafka.connect.source.SourceTask;

/** A connector whose task starts when the file of its setting "held.by" is gone; it writes one record then. */
public class SlowStartSource extends SourceConnector {
    private Map<String, String> settings;

    @Override public String version() { return "1"; }
    @Override public void start(Map<String, String> props) { settings = props; }
    @Override public Class<? extends Task> taskClass() { return SlowTask.class; }
    @Override public List<Map<String, String>> taskConfigs(int maxTasks) { return List.of(settings); }
    @Override public void stop() { }
    @Override public ConfigDef config() { return new ConfigDef(); }

    public static class SlowTask extends SourceTask {
        private String topic;
        private boolean written;

        @Override public String version() { return "1"; }
        @Override public void stop() { }

        @Override public void start(Map<String, String> props) {
            topic = props.get("topic");
            Path holds = Path.of(props.get("held.by"));
            try {
                if (Files.exists(holds)) Files.createFile(Path.of(holds + ".waiting"));
                while (Files.exists(holds)) Thread.sleep(20);
            } catch (Exception cause) {
                throw new IllegalStateException(cause);
            }
        }

        @Override public List<SourceRecord> poll() throws InterruptedException {
            Thread.sleep(100);
            if (written) return null;
            written = true;
            return List.of(new SourceRecord(Map.of("source", 1), Map.of("at", 1), topic, Schema.STRING_SCHEMA, "1"));
        }
    }
}
