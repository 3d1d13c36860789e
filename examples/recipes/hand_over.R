# A release in R: tables by arrow, the statement by jsonlite, cells as polygons by sf.
library(arrow)
values <- read_parquet("release/map/values.parquet")
statement <- jsonlite::fromJSON("release/map/statement.json")
cat(statement$released, "; off by about", statement$error, statement$error_unit, "\n")
values$width <- values$high_95 - values$low_95
print(head(values[order(-values$share), c("item", "share", "low_95", "high_95")], 10))

cells <- read_parquet("release/map/cells.geoparquet")
shapes <- sf::st_as_sf(data.frame(share = cells$share, geometry = sf::st_as_sfc(cells$geometry, crs = 4326)))
plot(shapes["share"])
