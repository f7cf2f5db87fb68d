import Support

/// The files beside a raster that belong to it: a world file and a .prj file, which may place it, overviews, a mask,
/// and what GDAL keeps there.
struct SideFiles {
  private let path: String
  private let stem: String
  private let suffix: String

  init(path: String) {
    self.path = path
    let name = path.lastIndex(of: "/").map { path.index(after: $0) } ?? path.startIndex
    if let dot = path[name...].lastIndex(of: "."), dot != name {
      stem = String(path[..<dot])
      suffix = String(path[path.index(after: dot)...])
    } else {
      (stem, suffix) = (path, "")
    }
  }

  /// Suffixes of world files, most specific first: first and last letter of the raster's suffix and a w, the suffix and
  /// a w, wld.
  var worldFileSuffixes: [String] {
    var suffixes: [String] = []
    if let first = suffix.first, let last = suffix.last {
      suffixes = ["\(first)\(last)w", "\(suffix)w"]
    }
    suffixes.append("wld")
    var seen: Set<String> = []
    return (suffixes + suffixes.map { $0.lowercased() } + suffixes.map { $0.uppercased() }).filter {
      seen.insert($0).inserted
    }
  }

  /// The path of the file with the raster's overviews.
  var overviews: String { path + ".ovr" }

  /// The path of the file with the raster's mask, a TIFF.
  var mask: String { path + ".msk" }

  /// The path of the file with the mask's overviews.
  var maskOverviews: String { mask + ".ovr" }

  /// The path of the ``AuxiliaryFile``.
  var auxiliary: String { path + ".aux.xml" }

  /// The files that exist beside the raster. All of them count where inputs are compared, because one may take
  /// precedence over another.
  var present: [String] {
    ((worldFileSuffixes + ["prj", "PRJ"]).map(path(withSuffix:)) + [overviews, mask, maskOverviews, auxiliary]).filter {
      FileSystem.kind($0) == .file
    }
  }

  /// The path of a file beside the raster.
  func path(withSuffix suffix: String) -> String { "\(stem).\(suffix)" }

  /// The affine transformation in the world file, or nil if there is none.
  ///
  /// - Throws: ``CutError`` `.noGeoreference` if the file does not begin with six numbers.
  func worldFile() throws -> Affine? {
    for suffix in worldFileSuffixes {
      let name = "\(stem).\(suffix)"
      guard let text = SourceFile.text(at: name, bytesMax: 4096) else { continue }
      let words = text.split { $0 == " " || $0 == "\t" || $0.isNewline || $0 == "\0" }
      let numbers = words.prefix(6).compactMap { Double($0) ?? Double($0.replacing(",", with: ".")) }
      guard numbers.count == 6, numbers.allSatisfy(\.isFinite) else {
        throw CutError(
          .noGeoreference, path: name, "is no world file: it does not begin with six numbers",
          remedy: "repair or remove it, and place the raster with --bounds")
      }
      // The lines are A, D, B, E, C, F; C and F are the centre of the top left pixel.
      let (a, d, b, e, c, f) = (numbers[0], numbers[1], numbers[2], numbers[3], numbers[4], numbers[5])
      return Affine(a: a, b: b, c: c - a / 2 - b / 2, d: d, e: e, f: f - d / 2 - e / 2)
    }
    return nil
  }

  /// The definition in a file that is named where a definition may stand, such as `utm.prj`.
  static func definition(inFile path: String) throws -> String {
    guard let text = SourceFile.text(at: path, bytesMax: projectionBytesMax) else {
      throw CutError(
        .unreadableSource, path: path, "cannot be read as the definition of a coordinate reference system",
        remedy: "name a .prj file, or give the definition itself: EPSG:n, WKT or a PROJ string")
    }
    return text
  }

  private static let projectionBytesMax = 1 << 16

  /// The CRS in the .prj file, or nil if there is none.
  ///
  /// - Throws: ``CutError`` `.noGeoreference` if PROJ does not know it.
  func projection() throws -> CoordinateReferenceSystem? {
    for suffix in ["prj", "PRJ"] {
      let name = "\(stem).\(suffix)"
      guard let text = SourceFile.text(at: name, bytesMax: Self.projectionBytesMax) else { continue }
      return try CoordinateReferenceSystem(definition: text, path: name)
    }
    return nil
  }
}
