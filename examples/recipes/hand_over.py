"""A released map in geopandas, and as a GeoPackage for a QGIS that reads no Parquet."""

import geopandas

cells = geopandas.read_parquet("release/map/cells.geoparquet")
busiest = cells.sort_values("share", ascending=False).head(10)
print(busiest[["item", "share", "low_95", "high_95"]])

clear = cells[cells["low_95"] > 0]  # cells that surely have a share above 0
print(f"{len(clear)} of {len(cells)} cells stand out from the noise")
cells.to_file("cells.gpkg", layer="cells")
