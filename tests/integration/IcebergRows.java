import java.util.Map;
import org.apache.hadoop.conf.Configuration;
import org.apache.iceberg.FileScanTask;
import org.apache.iceberg.Table;
import org.apache.iceberg.data.IcebergGenerics;
import org.apache.iceberg.data.Record;
import org.apache.iceberg.hadoop.HadoopTables;
import org.apache.iceberg.io.CloseableIterable;

/** Prints the files and the rows of the table in a directory, as Iceberg itself reads them: `file PATH`, `row ID`. */
public class IcebergRows {
    public static void main(String[] arguments) throws Exception {
        Table table = new HadoopTables(new Configuration()).load(arguments[0]);
        try (CloseableIterable<FileScanTask> tasks = table.newScan().planFiles()) {
            for (FileScanTask task : tasks) {
                System.out.println("file " + task.file().location());
            }
        }
        try (CloseableIterable<Record> rows = IcebergGenerics.read(table).build()) {
            for (Record row : rows) {
                System.out.println("row " + row.getField("id"));
            }
        }
    }
}
