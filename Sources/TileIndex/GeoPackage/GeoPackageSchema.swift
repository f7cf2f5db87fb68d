/// The tables of the GeoPackages that are written (OGC 12-128r18, annex C and sections 1.1 and 2.2).
enum GeoPackageSchema {
  /// The table of tiles. Not `tiles`: readers of MBTiles would take that for theirs and show it upside down.
  static let tiles = "tile_pyramid"
  /// GeoPackage says that contents have a date, and equal tiles are to give equal bytes.
  static let date = "1970-01-01T00:00:00.000Z"
  /// `GPKG`
  static let applicationID = 0x4750_4B47
  /// Version 1.3.0
  static let version = 10300

  // Extensions by their names in gpkg_extensions and where they are defined.
  static let webp = (name: "gpkg_webp", url: "http://www.geopackage.org/spec131/#extension_tiles_webp")
  static let otherZooms = (
    name: "gpkg_zoom_other", url: "http://www.geopackage.org/spec131/#extension_zoom_other_intervals"
  )
  static let metadata = (name: "gpkg_metadata", url: "http://www.geopackage.org/spec131/#extension_metadata")

  static let statements =
    [
      "PRAGMA application_id = \(applicationID)", "PRAGMA user_version = \(version)",
      """
      CREATE TABLE gpkg_spatial_ref_sys (srs_name TEXT NOT NULL, srs_id INTEGER NOT NULL PRIMARY KEY, \
      organization TEXT NOT NULL, organization_coordsys_id INTEGER NOT NULL, definition TEXT NOT NULL, description TEXT)
      """,
      """
      CREATE TABLE gpkg_contents (table_name TEXT NOT NULL PRIMARY KEY, data_type TEXT NOT NULL, \
      identifier TEXT UNIQUE, description TEXT DEFAULT '', last_change DATETIME NOT NULL DEFAULT \
      (strftime('%Y-%m-%dT%H:%M:%fZ','now')), min_x DOUBLE, min_y DOUBLE, max_x DOUBLE, max_y DOUBLE, srs_id INTEGER, \
      CONSTRAINT fk_gc_r_srs_id FOREIGN KEY (srs_id) REFERENCES gpkg_spatial_ref_sys(srs_id))
      """,
      """
      CREATE TABLE gpkg_tile_matrix_set (table_name TEXT NOT NULL PRIMARY KEY, srs_id INTEGER NOT NULL, \
      min_x DOUBLE NOT NULL, min_y DOUBLE NOT NULL, max_x DOUBLE NOT NULL, max_y DOUBLE NOT NULL, \
      CONSTRAINT fk_gtms_table_name FOREIGN KEY (table_name) REFERENCES gpkg_contents(table_name), \
      CONSTRAINT fk_gtms_srs FOREIGN KEY (srs_id) REFERENCES gpkg_spatial_ref_sys (srs_id))
      """,
      """
      CREATE TABLE gpkg_tile_matrix (table_name TEXT NOT NULL, zoom_level INTEGER NOT NULL, \
      matrix_width INTEGER NOT NULL, matrix_height INTEGER NOT NULL, tile_width INTEGER NOT NULL, \
      tile_height INTEGER NOT NULL, pixel_x_size DOUBLE NOT NULL, pixel_y_size DOUBLE NOT NULL, \
      CONSTRAINT pk_ttm PRIMARY KEY (table_name, zoom_level), \
      CONSTRAINT fk_tmm_table_name FOREIGN KEY (table_name) REFERENCES gpkg_contents(table_name))
      """,
      """
      CREATE TABLE \(tiles) (id INTEGER PRIMARY KEY AUTOINCREMENT, zoom_level INTEGER NOT NULL, \
      tile_column INTEGER NOT NULL, tile_row INTEGER NOT NULL, tile_data BLOB NOT NULL, \
      UNIQUE (zoom_level, tile_column, tile_row))
      """,
      extensionTable,
    ] + metadataTables

  static let extensionTable = """
    CREATE TABLE gpkg_extensions (table_name TEXT, column_name TEXT, extension_name TEXT NOT NULL, \
    definition TEXT NOT NULL, scope TEXT NOT NULL, \
    CONSTRAINT ge_tce UNIQUE (table_name, column_name, extension_name))
    """

  /// Section F.8, "Metadata".
  static let metadataTables = [
    """
    CREATE TABLE gpkg_metadata (id INTEGER CONSTRAINT m_pk PRIMARY KEY ASC NOT NULL, \
    md_scope TEXT NOT NULL DEFAULT 'dataset', md_standard_uri TEXT NOT NULL, \
    mime_type TEXT NOT NULL DEFAULT 'text/xml', metadata TEXT NOT NULL DEFAULT '')
    """,
    """
    CREATE TABLE gpkg_metadata_reference (reference_scope TEXT NOT NULL, table_name TEXT, column_name TEXT, \
    row_id_value INTEGER, timestamp DATETIME NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ','now')), \
    md_file_id INTEGER NOT NULL, md_parent_id INTEGER, \
    CONSTRAINT crmr_mfi_fk FOREIGN KEY (md_file_id) REFERENCES gpkg_metadata(id), \
    CONSTRAINT crmr_mpi_fk FOREIGN KEY (md_parent_id) REFERENCES gpkg_metadata(id))
    """,
  ]

  /// An SQL name in quotation marks.
  static func quoted(_ name: String) -> String {
    "\"" + name.split(separator: "\"", omittingEmptySubsequences: false).joined(separator: "\"\"") + "\""
  }
}

extension GeoPackageSchema {
  /// A row of `gpkg_spatial_ref_sys`. The first three are required (requirement 11).
  struct ReferenceSystem {
    let name: String
    /// Also the organization's code.
    let id: Int
    let organization: String
    /// Well-known text 1.
    let definition: String
    let description: String

    /// The one of a grid's tiles. A code that is no number, as some authorities have them, becomes one of this project.
    init(of projection: TileMatrixSet.Projection) {
      switch projection {
      case .webMercator: self = .webMercator
      case .geographic: self = .wgs84
      case .fitted(let crs):
        let parts = crs.code.split(separator: ":")
        self.init(
          name: crs.name, id: parts.last.flatMap { Int($0) } ?? 990_000, organization: String(parts.first ?? "NONE"),
          definition: crs.wkt ?? "undefined", description: crs.code)
      }
    }

    private init(name: String, id: Int, organization: String, definition: String, description: String) {
      (self.name, self.id, self.organization) = (name, id, organization)
      (self.definition, self.description) = (definition, description)
    }

    static let undefinedCartesian = ReferenceSystem(
      name: "Undefined cartesian SRS", id: -1, organization: "NONE", definition: "undefined",
      description: "undefined cartesian coordinate reference system")
    static let undefinedGeographic = ReferenceSystem(
      name: "Undefined geographic SRS", id: 0, organization: "NONE", definition: "undefined",
      description: "undefined geographic coordinate reference system")
    static let wgs84 = ReferenceSystem(
      name: "WGS 84 geodetic", id: 4326, organization: "EPSG",
      definition:
        "GEOGCS[\(geographic),AXIS[\"Latitude\",NORTH],AXIS[\"Longitude\",EAST],AUTHORITY[\"EPSG\",\"4326\"]]",
      description: "longitude/latitude coordinates in decimal degrees on the WGS 84 spheroid")
    static let webMercator = ReferenceSystem(
      name: "WGS 84 / Pseudo-Mercator", id: 3857, organization: "EPSG",
      definition: """
        PROJCS["WGS 84 / Pseudo-Mercator",GEOGCS[\(geographic),AUTHORITY["EPSG","4326"]],PROJECTION["Mercator_1SP"],\
        PARAMETER["central_meridian",0],PARAMETER["scale_factor",1],PARAMETER["false_easting",0],\
        PARAMETER["false_northing",0],UNIT["metre",1,AUTHORITY["EPSG","9001"]],AXIS["Easting",EAST],\
        AXIS["Northing",NORTH],EXTENSION["PROJ4","+proj=merc +a=6378137 +b=6378137 +lat_ts=0 +lon_0=0 +x_0=0 +y_0=0 \
        +k=1 +units=m +nadgrids=@null +wktext +no_defs"],AUTHORITY["EPSG","3857"]]
        """,
      description: "spherical Mercator in metres, as web maps use it")

    private static let geographic = """
      "WGS 84",DATUM["WGS_1984",SPHEROID["WGS 84",6378137,298.257223563,AUTHORITY["EPSG","7030"]],\
      AUTHORITY["EPSG","6326"]],PRIMEM["Greenwich",0,AUTHORITY["EPSG","8901"]],UNIT["degree",0.0174532925199433,\
      AUTHORITY["EPSG","9122"]]
      """
  }
}
