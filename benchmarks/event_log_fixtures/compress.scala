// Writes a text by Spark's own codecs, flushed after every so many lines, as its event log writer does.
import java.io.{BufferedOutputStream, FileOutputStream, PrintWriter}
import scala.io.Source

val codecOf = (name: String) => {
  val codecs = Class.forName("org.apache.spark.io.CompressionCodec$").getField("MODULE$").get(null)
  val create = codecs.getClass.getMethod("createCodec", classOf[org.apache.spark.SparkConf], classOf[String])
  create.invoke(codecs, sc.getConf, name)
}
for (job <- sys.env("ERNEST_COMPRESS").split(";")) {
  val Array(from, to, name) = job.split(",")
  val codec = codecOf(name)
  val wrap = codec.getClass.getMethods.find(_.getName == "compressedContinuousOutputStream").get
  val file = new BufferedOutputStream(new FileOutputStream(to), 32 << 10)
  val compressed = wrap.invoke(codec, file).asInstanceOf[java.io.OutputStream]
  val out = new PrintWriter(new BufferedOutputStream(compressed))
  for ((line, number) <- Source.fromFile(from).getLines().zipWithIndex) {
    out.print(line + "\n")
    if (number % 50 == 49) out.flush()
  }
  out.close()
}
System.exit(0)
