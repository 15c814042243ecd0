import java.util.ArrayList;
import java.util.List;
import java.util.Properties;
import java.util.concurrent.TimeUnit;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.FenceProducersOptions;

/**
 * Fences `count` transactional IDs with Admin.fenceProducers and prints the seconds that took.
 * Arguments: bootstrap servers, prefix, count, timeout in seconds, then admin settings as key=value.
 * A first call on one other ID makes connections and classes warm, so that only fencing is timed.
 */
public class FencePeer {
    public static void main(String[] args) throws Exception {
        Properties settings = new Properties();
        settings.put("bootstrap.servers", args[0]);
        int timeoutMs = Integer.parseInt(args[3]) * 1000;
        settings.put("default.api.timeout.ms", String.valueOf(timeoutMs));
        for (int i = 4; i < args.length; i++) {
            String[] pair = args[i].split("=", 2);
            settings.put(pair[0], pair[1]);
        }
        List<String> ids = new ArrayList<>();
        for (int i = 0; i < Integer.parseInt(args[2]); i++) {
            ids.add(args[1] + "-" + i);
        }
        try (Admin admin = Admin.create(settings)) {
            admin.fenceProducers(List.of(args[1] + "-warm")).all().get(timeoutMs, TimeUnit.MILLISECONDS);
            long start = System.nanoTime();
            admin.fenceProducers(ids, new FenceProducersOptions().timeoutMs(timeoutMs)).all().get(timeoutMs, TimeUnit.MILLISECONDS);
            System.out.printf(java.util.Locale.ROOT, "%.6f%n", (System.nanoTime() - start) / 1e9);
        }
    }
}
