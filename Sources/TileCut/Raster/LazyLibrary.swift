import CCurlShim
import CPROJShim
import CTIFFShim

/// A system library that is loaded when it is first needed, so that commands which do without it start sooner.
enum LazyLibrary: String, CaseIterable {
  case proj
  case geotiff
  case curl

  /// Why the library cannot be used, in the dynamic linker's words; nil when it is loaded.
  var problem: String? {
    let words =
      switch self {
      case .proj: cproj_load()
      case .geotiff: ctiff_geo_load()
      case .curl: ccurl_load()
      }
    return words.map { String(cString: $0) }
  }

  /// Debian's package with the library.
  var package: String {
    switch self {
    case .proj: "libproj25"
    case .geotiff: "libgeotiff5"
    case .curl: "libcurl3-gnutls"
    }
  }

  /// Loads the library. None of its functions may be called before.
  ///
  /// - Throws: ``CutError`` `.systemError` that names the command which installs it.
  func require() throws(CutError) {
    guard let problem else { return }
    throw CutError(.systemError, "a library is missing: \(problem)", remedy: "apt-get install \(package)")
  }
}
