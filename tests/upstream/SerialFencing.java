import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.HashMap;
import org.apache.kafka.clients.admin.Admin;

/**
 * Admin.fenceProducers sends one InitProducerId at a time to each coordinator, and waits the retry back-off between two
 * of them although none has failed.
 *
 * Argument: bootstrap servers. Needs kafka-clients only. Exit code 0: reproduced, 1: not.
 */
public class SerialFencing {
    private static final int MOST = 6;

    public static void main(String[] args) throws Exception {
        Map<String, Object> defaults = new HashMap<>(Map.of("bootstrap.servers", args[0]));
        Map<String, Object> quick = new HashMap<>(defaults);
        quick.put("retry.backoff.ms", "1");
        quick.put("retry.backoff.max.ms", "1");

        double slow = 0;
        for (int count : new int[] {1, 2, 4, MOST}) {
            slow = seconds(defaults, count);
            System.out.printf("%d transactional IDs, default back-off: %6.3f s%n", count, slow);
        }
        double fast = seconds(quick, MOST);
        System.out.printf("%d transactional IDs, back-off of 1 ms: %6.3f s%n", MOST, fast);
        boolean reproduced = slow > 1 && fast < slow / 5;
        System.out.println(reproduced ? "REPRODUCED: each further ID waits a back-off" : "NOT REPRODUCED");
        System.exit(reproduced ? 0 : 1);
    }

    /** Fencing so many IDs, after one that makes the connections and has the coordinator load its partitions. */
    private static double seconds(Map<String, Object> settings, int count) throws Exception {
        String prefix = "serial-fencing-" + System.nanoTime() + "-";
        List<String> ids = new ArrayList<>();
        for (int number = 0; number < count; number++) ids.add(prefix + number);
        try (Admin admin = Admin.create(settings)) {
            admin.fenceProducers(List.of(prefix + "first")).all().get();
            long start = System.nanoTime();
            admin.fenceProducers(ids).all().get();
            return (System.nanoTime() - start) / 1e9;
        }
    }
}
