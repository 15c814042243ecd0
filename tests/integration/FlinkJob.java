import java.io.IOException;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import org.apache.flink.api.common.eventtime.WatermarkStrategy;
import org.apache.flink.api.common.serialization.SimpleStringSchema;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.api.connector.sink2.Committer;
import org.apache.flink.api.connector.sink2.CommitterInitContext;
import org.apache.flink.api.connector.sink2.Sink;
import org.apache.flink.api.connector.sink2.SinkWriter;
import org.apache.flink.api.connector.sink2.StatefulSinkWriter;
import org.apache.flink.api.connector.sink2.SupportsCommitter;
import org.apache.flink.api.connector.sink2.SupportsWriterState;
import org.apache.flink.api.connector.sink2.WriterInitContext;
import org.apache.flink.api.connector.source.util.ratelimit.RateLimiterStrategy;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.connector.base.DeliveryGuarantee;
import org.apache.flink.connector.datagen.source.DataGeneratorSource;
import org.apache.flink.connector.kafka.sink.KafkaCommittable;
import org.apache.flink.connector.kafka.sink.KafkaRecordSerializationSchema;
import org.apache.flink.connector.kafka.sink.KafkaSink;
import org.apache.flink.connector.kafka.sink.KafkaWriterState;
import org.apache.flink.connector.kafka.sink.TransactionNamingStrategy;
import org.apache.flink.core.io.SimpleVersionedSerializer;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;

/**
 * A Flink job with two subtasks in one process: it writes the numbers from 0 on to a topic, by Flink's own sink with
 * exactly-once, and checkpoints each second.
 *
 * Arguments: bootstrap servers, topic, prefix of transactional IDs, INCREMENTING or POOLING, directory of checkpoints,
 * checkpoint to restore or "-", count of numbers, how many of them a second, and after how many commits subtask 1 waits
 * for ever before it commits. For each transaction that it commits, or waits with, it writes a line: "commits" or
 * "holds", transactional ID, producer ID, epoch; and "fails" with the exception where the sink ignores one.
 */
public class FlinkJob {
    public static void main(String[] args) throws Exception {
        Configuration settings = new Configuration();
        settings.setString("execution.checkpointing.interval", "1s");
        settings.setString("execution.checkpointing.dir", args[4]);
        settings.setString("execution.checkpointing.externalized-checkpoint-retention", "RETAIN_ON_CANCELLATION");
        settings.setString("restart-strategy.type", "none");
        settings.setString("taskmanager.memory.network.max", "16m");
        if (!args[5].equals("-")) {
            settings.setString("execution.state-recovery.path", args[5]);
        }
        StreamExecutionEnvironment job = StreamExecutionEnvironment.getExecutionEnvironment(settings);
        job.setParallelism(2);
        job.disableOperatorChaining(); // so that the writer goes on while the committer waits
        KafkaSink<String> sink = KafkaSink.<String>builder()
            .setBootstrapServers(args[0])
            .setDeliveryGuarantee(DeliveryGuarantee.EXACTLY_ONCE)
            .setTransactionalIdPrefix(args[2])
            .setTransactionNamingStrategy(TransactionNamingStrategy.valueOf(args[3]))
            .setProperty("transaction.timeout.ms", "600000")
            .setRecordSerializer(KafkaRecordSerializationSchema.<String>builder()
                .setTopic(args[1])
                .setValueSerializationSchema(new SimpleStringSchema())
                .build())
            .build();
        DataGeneratorSource<String> numbers = new DataGeneratorSource<>(
            String::valueOf, Long.parseLong(args[6]), RateLimiterStrategy.perSecond(Integer.parseInt(args[7])), Types.STRING);
        job.fromSource(numbers, WatermarkStrategy.noWatermarks(), "numbers").uid("numbers")
            .sinkTo(new WatchedSink(sink, Integer.parseInt(args[8]))).uid("sink");
        job.execute();
    }

    /** The sink of Flink, whose commits are said and, after so many of them, held. */
    record WatchedSink(KafkaSink<String> sink, int commits)
        implements Sink<String>, SupportsCommitter<KafkaCommittable>, SupportsWriterState<String, KafkaWriterState> {
        @Override
        public SinkWriter<String> createWriter(WriterInitContext context) throws IOException {
            return sink.createWriter(context);
        }

        @Override
        @SuppressWarnings("unchecked")
        public StatefulSinkWriter<String, KafkaWriterState> restoreWriter(
            WriterInitContext context, Collection<KafkaWriterState> state) throws IOException {
            return (StatefulSinkWriter<String, KafkaWriterState>) (Object) sink.restoreWriter(context, state);
        }

        @Override
        public SimpleVersionedSerializer<KafkaWriterState> getWriterStateSerializer() {
            return sink.getWriterStateSerializer();
        }

        @Override
        public SimpleVersionedSerializer<KafkaCommittable> getCommittableSerializer() {
            return sink.getCommittableSerializer();
        }

        @Override
        public Committer<KafkaCommittable> createCommitter(CommitterInitContext context) throws IOException {
            int subtask = context.getTaskInfo().getIndexOfThisSubtask();
            return new WatchedCommitter(sink.createCommitter(context), subtask == 1 ? commits : Integer.MAX_VALUE);
        }
    }

    private static final class WatchedCommitter implements Committer<KafkaCommittable> {
        private final Committer<KafkaCommittable> committer;
        private int left;

        WatchedCommitter(Committer<KafkaCommittable> committer, int commits) {
            this.committer = committer;
            this.left = commits;
        }

        @Override
        public void commit(Collection<CommitRequest<KafkaCommittable>> requests)
            throws IOException, InterruptedException {
            boolean holds = !requests.isEmpty() && left-- == 0;
            List<CommitRequest<KafkaCommittable>> watched = new ArrayList<>();
            for (CommitRequest<KafkaCommittable> request : requests) {
                say(holds ? "holds" : "commits", request.getCommittable());
                watched.add(new WatchedRequest(request));
            }
            if (holds) {
                Thread.sleep(Long.MAX_VALUE);
            }
            committer.commit(watched);
        }

        @Override
        public void close() throws Exception {
            committer.close();
        }
    }

    private record WatchedRequest(Committer.CommitRequest<KafkaCommittable> request)
        implements Committer.CommitRequest<KafkaCommittable> {
        @Override
        public KafkaCommittable getCommittable() {
            return request.getCommittable();
        }

        @Override
        public int getNumberOfRetries() {
            return request.getNumberOfRetries();
        }

        @Override
        public void signalFailedWithKnownReason(Throwable why) {
            say("fails", request.getCommittable(), why.getClass().getSimpleName());
            request.signalFailedWithKnownReason(why);
        }

        @Override
        public void signalFailedWithUnknownReason(Throwable why) {
            request.signalFailedWithUnknownReason(why);
        }

        @Override
        public void retryLater() {
            request.retryLater();
        }

        @Override
        public void updateAndRetryLater(KafkaCommittable committable) {
            request.updateAndRetryLater(committable);
        }

        @Override
        public void signalAlreadyCommitted() {
            request.signalAlreadyCommitted();
        }
    }

    private static void say(String word, KafkaCommittable transaction, String... more) {
        System.out.println(String.join(" ", word, transaction.getTransactionalId(),
            transaction.getProducerId() + " " + transaction.getEpoch(), String.join(" ", more)).strip());
    }
}
