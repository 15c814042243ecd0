package org.apache.kafka.tools;

import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.util.Properties;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.common.utils.Exit;
import org.apache.kafka.common.utils.Time;

/**
 * Kafka's `find-hanging --topic` for topics 0 to n-1 in one JVM, after one to warm it; prints the seconds of all.
 * Arguments: bootstrap servers, prefix, number of topics.
 */
public class FindHangingPeer {
    public static void main(String[] args) throws Exception {
        Properties settings = new Properties();
        settings.put("bootstrap.servers", args[0]);
        Exit.setExitProcedure((status, message) -> { });
        find(args[0], args[1] + 0, settings);
        long start = System.nanoTime();
        for (int i = 0; i < Integer.parseInt(args[2]); i++) {
            find(args[0], args[1] + i, settings);
        }
        System.out.printf(java.util.Locale.ROOT, "%.6f%n", (System.nanoTime() - start) / 1e9);
    }

    private static void find(String servers, String topic, Properties settings) throws Exception {
        String[] command = {
            "--bootstrap-server", servers, "find-hanging", "--topic", topic, "--max-transaction-timeout", "0"
        };
        PrintStream nowhere = new PrintStream(new ByteArrayOutputStream());
        TransactionsCommand.execute(command, namespace -> Admin.create(settings), nowhere, Time.SYSTEM);
    }
}
