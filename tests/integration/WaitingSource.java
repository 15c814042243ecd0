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

/**
 * A connector with a record ten times a second. While the file of its setting "blocked.by" is there, poll does not
 * return; while that of "idle.by" is there, it returns that there is nothing.
 */
public class WaitingSource extends SourceConnector {
    private Map<String, String> settings;

    @Override public String version() { return "1"; }
    @Override public void start(Map<String, String> props) { settings = props; }
    @Override public Class<? extends Task> taskClass() { return WaitingTask.class; }
    @Override public List<Map<String, String>> taskConfigs(int maxTasks) { return List.of(settings); }
    @Override public void stop() { }
    @Override public ConfigDef config() { return new ConfigDef(); }

    public static class WaitingTask extends SourceTask {
        private Map<String, String> settings;
        private long count;

        @Override public String version() { return "1"; }
        @Override public void start(Map<String, String> props) { settings = props; }
        @Override public void stop() { }

        @Override public List<SourceRecord> poll() throws InterruptedException {
            do Thread.sleep(100); while (isThere("blocked.by"));
            if (isThere("idle.by")) return null;
            count++;
            return List.of(new SourceRecord(
                Map.of("source", 1), Map.of("at", count), settings.get("topic"), Schema.STRING_SCHEMA, "record"));
        }

        private boolean isThere(String setting) {
            return settings.containsKey(setting) && Files.exists(Path.of(settings.get(setting)));
        }
    }
}
