import CASTCShim
import CCurlShim
import CDeflate
import CGeoTIFF
import CJPEG
import COpenJPEG
import CPNG
import CPROJ
import CSQLite
import CTIFF
import CWebP
import CZlib
import LibC
import MapDrawing
import Support
import TileImage
import TileIndex

/// What a cut finds on this machine: libraries, PROJ's data, cores, memory and room on the disk.
package struct SystemReport: Encodable, Sendable {
  package struct Library: Encodable, Sendable {
    package let name: String
    /// The version that is loaded, or that was compiled with where the library does not tell its own; nil if missing.
    package let version: String?
    /// The only thing that needs it, and Debian's package with it; nil for libraries that every cut may need.
    package private(set) var use: Use?

    package struct Use: Encodable, Sendable {
      package let option: String
      package let package: String
    }
  }

  package struct PROJData: Encodable, Sendable {
    /// The file of the database of coordinate reference systems; nil if PROJ has none.
    package let database: String?
    /// The folders in which PROJ looks for data.
    package let folders: [String]
    /// Grids for datum shifts in those folders.
    package let gridCount: Int
  }

  package struct Disk: Encodable, Sendable {
    package let folder: String
    package let freeBytes: Int
    package let isWritable: Bool
  }

  /// Something that does not work, and the next command to type.
  package struct Problem: Encodable, Sendable {
    package let message: String
    package let remedy: String
  }

  package let libraries: [Library]
  /// Nil if PROJ is missing.
  package let proj: PROJData?
  /// The file of certificates that https needs; nil if there is none.
  package let certificates: String?
  /// The processors that this process may use.
  package let processorCount: Int
  package let memoryBytes: Int
  package let freeMemoryBytes: Int
  /// The working folder, and the folder of temporary files.
  package let disks: [Disk]
  package let problems: [Problem]

  /// Loads every library, and asks the system.
  package init() {
    var problems: [Problem] = []
    for library in LazyLibrary.allCases {
      if let words = library.problem {
        problems.append(Problem(message: words, remedy: "apt-get install \(library.package)"))
      }
    }
    libraries = Self.versions
    proj = LazyLibrary.proj.problem == nil ? PROJData() : nil
    if let proj, proj.database == nil {
      problems.append(
        Problem(
          message: "PROJ has no database: proj.db is not in \(proj.folders.joined(separator: ", "))",
          remedy: "apt-get install proj-data, or name its folder in PROJ_DATA"))
    }
    certificates = Self.certificateFiles.first { access($0, R_OK) == 0 }
    if certificates == nil {
      problems.append(
        Problem(
          message: "https does not work: there are no certificates", remedy: "apt-get install ca-certificates"))
    }
    processorCount = Processors.count
    let pageBytes = sysconf(Int32(_SC_PAGESIZE))
    memoryBytes = sysconf(Int32(_SC_PHYS_PAGES)) * pageBytes
    #if canImport(Darwin)
      freeMemoryBytes = memoryBytes
    #else
      freeMemoryBytes = sysconf(Int32(_SC_AVPHYS_PAGES)) * pageBytes
    #endif
    disks = [FileSystem.absolutePath("."), FileSystem.temporaryFolder].map(Disk.init)
    for disk in disks where !disk.isWritable {
      problems.append(
        Problem(
          message: "\(disk.folder) cannot be written",
          remedy: disk.folder == FileSystem.temporaryFolder
            ? "name another folder in TMPDIR" : "change to a folder of yours, or name outputs in one"))
    }
    self.problems = problems
  }

  private static let certificateFiles = [
    FileSystem.environment("SSL_CERT_FILE"), "/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/cert.pem",
  ].compactMap { $0 }

  private static var versions: [Library] {
    let webp = UInt32(bitPattern: WebPGetDecoderVersion())
    let jpeg = LIBJPEG_TURBO_VERSION_NUMBER
    let geotiff = LIBGEOTIFF_VERSION
    return [
      // It does not tell its version; this is that of its interface.
      Library(
        name: "astcenc", version: castc_load() == nil ? "3" : nil,
        use: .init(option: "tilecut textures", package: "libastcenc3d")),
      Library(
        name: "cairo", version: DrawingLibrary.cairo,
        use: .init(option: "a layer of type vector", package: "libcairo2")),
      Library(name: "curl", version: LazyLibrary.curl.problem == nil ? word(ccurl_version()) : nil),
      Library(name: "expat", version: XMLReader.libraryVersion),
      Library(name: "geotiff", version: LazyLibrary.geotiff.problem == nil ? dotted(geotiff, 1000, 100, 10) : nil),
      Library(
        name: "imagequant", version: TileEncoding.quantizerVersion,
        use: .init(option: "--colors", package: "libimagequant0")),
      Library(name: "jpeg-turbo", version: dotted(jpeg, 1_000_000, 1000, 1)),
      Library(name: "libdeflate", version: LIBDEFLATE_VERSION_STRING),
      Library(
        name: "librsvg", version: DrawingLibrary.librsvg,
        use: .init(option: "an icon in SVG", package: "librsvg2-2")),
      Library(name: "nettle", version: SHA256Hash.libraryVersion),
      Library(name: "openjpeg", version: String(cString: opj_version())),
      Library(
        name: "pango", version: DrawingLibrary.pango,
        use: .init(option: "a style layer of type symbol", package: "libpangocairo-1.0-0")),
      Library(name: "png", version: String(cString: png_get_libpng_ver(nil))),
      Library(name: "proj", version: LazyLibrary.proj.problem == nil ? String(cString: proj_info().version) : nil),
      Library(name: "sqlite", version: String(cString: sqlite3_libversion())),
      Library(name: "tiff", version: word(TIFFGetVersion(), after: "Version ")),
      Library(name: "webp", version: "\(webp >> 16).\(webp >> 8 & 255).\(webp & 255)"),
      Library(name: "zlib", version: String(cString: zlibVersion())),
    ]
  }

  /// The version in a number that has a factor for each of its parts.
  private static func dotted(_ number: Int32, _ factors: Int32...) -> String {
    var rest = number
    return factors.map { factor in
      defer { rest %= factor }
      return "\(rest / factor)"
    }
    .joined(separator: ".")
  }

  /// The first word, or the one after a text.
  private static func word(_ text: UnsafePointer<CChar>, after start: String = "/") -> String {
    let text = String(cString: text)
    let rest = text.ranges(of: start).first.map { text[$0.upperBound...] } ?? text[...]
    return String(rest.prefix { $0 != " " && $0 != "\n" })
  }
}

extension SystemReport.PROJData {
  fileprivate init() {
    let context = try? PROJContext()
    let path = context.flatMap { proj_context_get_database_path($0.pointer) }.map { String(cString: $0) }
    database = path.flatMap { $0.isEmpty ? nil : $0 }
    let searched = proj_info().searchpath.map { String(cString: $0) } ?? ""
    folders = searched.split(separator: ":").map(String.init)
    gridCount =
      Set(
        folders.flatMap { FileSystem.names(in: $0) }.filter { $0.hasSuffix(".tif") || $0.hasSuffix(".gsb") }
      ).count
  }
}

extension SystemReport.Disk {
  fileprivate init(_ folder: String) {
    self.folder = folder
    freeBytes = (try? FileSystem.freeBytes(folder)) ?? 0
    isWritable = access(folder, W_OK | X_OK) == 0
  }
}
