import java.io.DataInputStream;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import org.apache.kafka.common.security.ssl.SslPrincipalMapper;

/** Reads rules and subjects, each a length and UTF-8, and answers each pair with `=` and the name, or `!` and why not. */
public class PrincipalRulesOracle {
    public static void main(String[] args) throws IOException {
        DataInputStream questions = new DataInputStream(System.in);
        PrintStream answers = new PrintStream(System.out, true, StandardCharsets.UTF_8);
        while (true) {
            String rules;
            try {
                rules = text(questions);
            } catch (java.io.EOFException end) {
                return;
            }
            String subject = text(questions);
            answers.println(answer(rules, subject));
        }
    }

    private static String text(DataInputStream questions) throws IOException {
        byte[] bytes = new byte[questions.readInt()];
        questions.readFully(bytes);
        return new String(bytes, StandardCharsets.UTF_8);
    }

    private static String answer(String rules, String subject) {
        try {
            return "=" + SslPrincipalMapper.fromRules(rules).getName(subject);
        } catch (IOException | RuntimeException refused) {
            return "!" + refused.getClass().getSimpleName();
        }
    }
}
