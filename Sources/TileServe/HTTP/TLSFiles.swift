import NIOSSL

/// Reads certificate and key.
enum TLSFiles {
  /// - Throws: ``ServeError`` with `.invalidOption` that names the file.
  static func context(_ files: TileServerOptions.TLS) throws -> NIOSSLContext {
    let chain: [NIOSSLCertificate]
    do {
      chain = try NIOSSLCertificate.fromPEMFile(files.certificatePath)
    } catch {
      throw ServeError(
        .invalidOption, "\(files.certificatePath): is no PEM file with certificates that can be read (\(error))")
    }
    let key: NIOSSLPrivateKey
    do {
      key = try NIOSSLPrivateKey(file: files.keyPath, format: .pem)
    } catch {
      throw ServeError(
        .invalidOption, "\(files.keyPath): is no PEM file with a private key that can be read (\(error))")
    }
    do {
      var configuration = TLSConfiguration.makeServerConfiguration(
        certificateChain: chain.map { .certificate($0) }, privateKey: .privateKey(key))
      // RFC 8996 takes the older ones out of use.
      configuration.minimumTLSVersion = .tlsv12
      return try NIOSSLContext(configuration: configuration)
    } catch {
      throw ServeError(
        .invalidOption, "\(files.certificatePath) and \(files.keyPath) do not belong together (\(error))")
    }
  }
}
