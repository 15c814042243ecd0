import java.util.ArrayList;
import java.util.List;
import java.util.Properties;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.DescribeTransactionsOptions;
import org.apache.kafka.clients.admin.ListTransactionsOptions;
import org.apache.kafka.clients.admin.TransactionListing;

/**
 * Lists all transactional IDs with Java's Admin and describes them, `batch` IDs in a call; prints the seconds of both.
 * Arguments: bootstrap servers, batch. Connections and classes are warmed by a first listing.
 */
public class TransactionsPeer {
    public static void main(String[] args) throws Exception {
        Properties settings = new Properties();
        settings.put("bootstrap.servers", args[0]);
        int batch = Integer.parseInt(args[1]);
        int most = Integer.parseInt(args[2]);
        try (Admin admin = Admin.create(settings)) {
            admin.listTransactions(new ListTransactionsOptions().timeoutMs(120000)).all().get();
            long start = System.nanoTime();
            List<String> ids = new ArrayList<>();
            for (TransactionListing each : admin.listTransactions(new ListTransactionsOptions().timeoutMs(120000)).all().get()) {
                ids.add(each.transactionalId());
            }
            int described = 0;
            for (int from = 0; from < Math.min(most, ids.size()); from += batch) {
                List<String> part = ids.subList(from, Math.min(most, Math.min(ids.size(), from + batch)));
                described += admin.describeTransactions(part, new DescribeTransactionsOptions().timeoutMs(120000)).all().get().size();
            }
            System.out.printf(java.util.Locale.ROOT, "%d %.6f%n", described, (System.nanoTime() - start) / 1e9);
        }
    }
}
