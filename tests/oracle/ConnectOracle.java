import java.io.StringReader;
import java.nio.charset.StandardCharsets;
import java.util.Base64;
import java.util.Properties;
import java.util.Scanner;
import java.util.concurrent.ExecutionException;
import org.apache.kafka.clients.admin.Admin;

/** Connects with client properties, each file in base64 on a line of its own, and says of each whether it could. */
public class ConnectOracle {
    public static void main(String[] args) throws Exception {
        Scanner questions = new Scanner(System.in, StandardCharsets.US_ASCII);
        while (questions.hasNextLine()) {
            byte[] file = Base64.getDecoder().decode(questions.nextLine());
            Properties properties = new Properties();
            properties.load(new StringReader(new String(file, StandardCharsets.ISO_8859_1)));
            properties.setProperty("default.api.timeout.ms", "8000");
            properties.setProperty("request.timeout.ms", "8000");
            System.out.println(connects(properties));
            System.out.flush();
        }
    }

    private static String connects(Properties properties) throws InterruptedException {
        try (Admin admin = Admin.create(properties)) {
            admin.describeCluster().clusterId().get();
            return "yes";
        } catch (ExecutionException refused) {
            return "no " + refused.getCause().getClass().getSimpleName();
        } catch (RuntimeException refused) {
            return "no " + refused.getClass().getSimpleName();
        }
    }
}
