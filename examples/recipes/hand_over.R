# A release in R: tables by arrow, the statement by jsonlite, a map by sf.
library(arrow)
values <- read_parquet("release/map/values.parquet")
statement <- jsonlite::fromJSON("release/map/statement.json")
cat(statement$released, "; off by about", statement$error, statement$error_unit, "\n")
print(head(values[order(-values$share), c("item", "share", "low_95", "high_95")], 10))

cells <- sf::st_read("release/map/values.geojson", quiet = TRUE) # polygons, longitude and latitude
clear <- cells[cells$low_95 > 0, ] # cells that surely have a share above 0
plot(clear["share"])
