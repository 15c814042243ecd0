import java.io.BufferedReader;
import java.io.ByteArrayOutputStream;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.lang.reflect.Constructor;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.util.Arrays;
import java.util.Map;
import org.apache.kafka.common.utils.Exit;

/**
 * Reads command lines of Kafka's tools, a tool and its arguments divided by tabs, and answers each with what the tool's own
 * parser says against it, or an empty line. Nothing is sent anywhere.
 */
public class ToolOptionsOracle {
    private static final Map<String, String> OPTIONS = Map.of(
        "kafka-configs.sh", "kafka.admin.ConfigCommand$ConfigCommandOptions",
        "kafka-topics.sh", "org.apache.kafka.tools.TopicCommand$TopicCommandOptions",
        "kafka-acls.sh", "org.apache.kafka.tools.AclCommand$AclCommandOptions");
    /** Their parsers are within the method that sends the request: an option that none has is reported before that. */
    private static final Map<String, String> PARSED_WITHIN = Map.of(
        "kafka-features.sh", "org.apache.kafka.tools.FeatureCommand",
        "kafka-transactions.sh", "org.apache.kafka.tools.TransactionsCommand");
    private static final String NO_OPTION = "--no-such-option";

    public static void main(String[] args) throws Exception {
        PrintStream out = System.out;
        Exit.Procedure ends = (status, message) -> {
            throw new IllegalStateException("exit " + status + " " + message);
        };
        Exit.setExitProcedure(ends);
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            String[] words = line.split("\t");
            String[] rest = Arrays.copyOfRange(words, 1, words.length);
            ByteArrayOutputStream printed = new ByteArrayOutputStream();
            System.setErr(new PrintStream(printed, true));
            System.setOut(new PrintStream(printed, true));
            String wrong = OPTIONS.containsKey(words[0]) ? parse(OPTIONS.get(words[0]), rest) : within(words[0], rest, printed);
            out.println(wrong.isEmpty() ? "" : (wrong + " " + printed).replace('\n', ' '));
            out.flush();
        }
    }

    private static String parse(String name, String[] arguments) throws Exception {
        try {
            Constructor<?> options = Class.forName(name).getDeclaredConstructor(String[].class);
            options.setAccessible(true);
            Object parsed = options.newInstance((Object) arguments);
            Method check = parsed.getClass().getDeclaredMethod("checkArgs");
            check.setAccessible(true);
            check.invoke(parsed);
            return "";
        } catch (InvocationTargetException error) {
            return String.valueOf(error.getCause());
        }
    }

    private static String within(String tool, String[] arguments, ByteArrayOutputStream printed) throws Exception {
        if (!PARSED_WITHIN.containsKey(tool)) {
            return "no tool that this oracle knows: " + tool;
        }
        String[] more = Arrays.copyOf(arguments, arguments.length + 1);
        more[arguments.length] = NO_OPTION;
        Method main = Class.forName(PARSED_WITHIN.get(tool)).getDeclaredMethod("main", String[].class);
        String said = "";
        try {
            main.invoke(null, (Object) more);
        } catch (InvocationTargetException error) {
            said = String.valueOf(error.getCause());
        }
        String all = said + printed;
        return all.contains("unrecognized arguments: '" + NO_OPTION + "'") ? "" : "not parsed: " + said;
    }
}
