// A small job of everything that the tables tell of: joins by broadcast and by shuffle, plain RDDs, a broadcast
// variable, a cached data set, and a job that fails.
import org.apache.spark.sql.functions.{broadcast => broadcastHint}

val facts = spark.range(0, 20000, 1, 4).selectExpr("id", "id % 10 as k", "cast(id as string) as text")
val names = spark.range(0, 10, 1, 1).selectExpr("id as k", "concat('name ', id) as name")
facts.join(broadcastHint(names), "k").groupBy("name").count().collect()
facts.hint("merge").join(names.hint("merge"), "k").selectExpr("max(text)").collect()

val offset = sc.broadcast(Array.fill(1000)(1))
val pairs = sc.parallelize(1 to 1000, 4).map(number => (number % 10, number + offset.value(0))).cache()
pairs.reduceByKey(_ + _, 2).count()
pairs.count()
try {
  sc.parallelize(1 to 2, 2).map(number => if (number == 2) sys.error("on purpose") else number).count()
} catch {
  case error: org.apache.spark.SparkException => println("failed as it should")
}
spark.stop()
System.exit(0)
