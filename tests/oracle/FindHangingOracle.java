package org.apache.kafka.tools;

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.util.Properties;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.common.utils.Exit;
import org.apache.kafka.common.utils.Time;

/**
 * Kafka's own `find-hanging`, driven many times in one JVM. Arguments: bootstrap servers, --max-transaction-timeout.
 * Each line on stdin is a topic; what the command prints about it follows, then a line "END".
 */
public class FindHangingOracle {
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
        for (String topic = in.readLine(); topic != null; topic = in.readLine()) {
            String[] command = {
                "--bootstrap-server", args[0], "find-hanging", "--topic", topic, "--max-transaction-timeout", args[1]
            };
            TransactionsCommand.execute(command, namespace -> Admin.create(settings), out, Time.SYSTEM);
            out.println("END");
            out.flush();
        }
    }
}
