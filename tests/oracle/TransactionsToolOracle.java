package org.apache.kafka.tools;

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.util.Properties;
import java.util.stream.Stream;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.common.utils.Exit;
import org.apache.kafka.common.utils.Time;

/**
 * Kafka's own `kafka-transactions.sh`, driven many times in one JVM. Argument: bootstrap servers. Each line on stdin is
 * the rest of a command, its words with tabs in between; what it prints follows, then a line "END".
 */
public class TransactionsToolOracle {
    public static void main(String[] args) throws Exception {
        Properties settings = new Properties();
        settings.put("bootstrap.servers", args[0]);
        PrintStream out = System.out;
        Exit.setExitProcedure((status, message) -> {  // the tool ends the JVM after each command
            if (status != 0) {
                throw new IllegalStateException(message);
            }
        });
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        for (String words = in.readLine(); words != null; words = in.readLine()) {
            String[] command = Stream.concat(Stream.of("--bootstrap-server", args[0]), Stream.of(words.split("\t")))
                .toArray(String[]::new);
            TransactionsCommand.execute(command, namespace -> Admin.create(settings), out, Time.SYSTEM);
            out.println("END");
            out.flush();
        }
    }
}
